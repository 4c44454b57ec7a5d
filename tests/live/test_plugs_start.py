"""Plugs that are out when `serve` starts: it does not serve, says which file and what to do, and starts once that is done."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from live.ask import Request, tls_1
from live.gate import Agent, Gate, effectgate, serving
from live.ledger import Pair, ledger_gate
from origin.certificates import Authority
from origin.server import Origins

AGENT = Agent("reader", ["ledger/read-items"])
GET = Request("GET", "https://api.ledger.test/items/7")
Plug = Callable[[Path], AbstractContextManager[None]]


@contextlib.contextmanager
def missing(file: Path) -> Iterator[None]:
    away = file.rename(file.with_name("away"))
    yield
    away.rename(file)


def mode(bits: int) -> Plug:
    @contextlib.contextmanager
    def opened(file: Path) -> Iterator[None]:
        before = file.stat().st_mode & 0o777
        file.chmod(bits)
        yield
        file.chmod(before)

    return opened


def holding(content: bytes) -> Plug:
    @contextlib.contextmanager
    def replaced(file: Path) -> Iterator[None]:
        with missing(file):
            file.write_bytes(content)
            file.chmod(0o600)
            yield
            file.unlink()

    return replaced


# File, what is wrong with it, and what the one line must say beside its name.
TABLE: tuple[tuple[str, Plug, str], ...] = (
    ("var/receipts.key", missing, "restore it"),
    ("var/receipts.key", mode(0o644), "chmod 600"),
    ("var/receipts.key", holding(b"abcd"), "restore it"),
    ("var/installation.key", missing, "restore it"),
    ("var/receipts.db", holding(b"\xff" * 9000), "move it away"),
    ("var", mode(0o755), "chmod 700"),
    ("certs/ca-key.pem", missing, "restore it"),
    ("certs/ca-key.pem", mode(0o640), "chmod 600"),
    ("certs/receipt-trust.json", holding(b"{}"), "restore it"),
)


@pytest.fixture(scope="module")
def pair(origins: Origins) -> Pair:
    return Pair.open(origins)


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory, pair: Pair, authority: Authority) -> Gate:
    """A gate that has served, and does not now."""
    gate = ledger_gate(Gate, tmp_path_factory.mktemp("start"), [AGENT], pair, authority)
    with serving(gate):
        assert tls_1(gate.door(AGENT), GET).status == 200
    return gate


@pytest.mark.parametrize(("name", "pull", "fix"), TABLE)
def test_a_start_without_it_is_refused_in_one_line(gate: Gate, name: str, pull: Plug, fix: str) -> None:
    with pull(gate.directory / name):
        ran = effectgate("serve", "--config", str(gate.config))
    told = [line for line in ran.stderr.splitlines() if line.startswith("effectgate: ")]
    assert (ran.returncode, len(told)) == (2, 1), ran.stderr
    assert str(gate.directory / name) in told[0]
    assert fix in told[0]
    assert "Traceback" not in ran.stderr


def test_it_starts_when_all_is_back(gate: Gate) -> None:
    with serving(gate):
        assert tls_1(gate.door(AGENT), GET).status == 200
    assert effectgate("receipts", "verify", "--config", str(gate.config)).returncode == 0
