"""`serve` as a user who may do nothing, started by somebody whose umask lets everyone do everything."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.ask import Request, tls_1
from live.gate import Agent, Gate, serving
from live.ledger import Pair, ledger_gate
from origin.certificates import Authority
from origin.server import Origins

AGENT = Agent("reader", ["ledger/read-items"])
NOBODY = 65534
WARNING = "running as root"
# An interpreter under /root is out of reach for others: reading is all that this user keeps of root's power.
AS_NOBODY = (
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all,+dac_read_search",
    "--ambient-caps=-all,+dac_read_search", "--bounding-set=-all,+dac_read_search",
)  # fmt: skip


class UnmaskedGate(Gate):
    """A gate that is started with umask 0, by root as nobody, by anybody else as himself."""

    prefix = ("sh", "-c", 'umask 0; exec "$@"', "-", *(AS_NOBODY if os.geteuid() == 0 else ()))


@pytest.fixture(scope="module")
def gate(origins: Origins, authority: Authority) -> Iterator[Gate]:
    """In a directory that nobody can reach: pytest's own lie below one of root's."""
    with tempfile.TemporaryDirectory() as place:
        gate = ledger_gate(UnmaskedGate, Path(place), [AGENT], Pair.open(origins), authority)
        if os.geteuid() == 0:
            os.chown(gate.directory, NOBODY, NOBODY)
        with serving(gate, XDG_CACHE_HOME=str(gate.directory / "cache")):
            assert tls_1(gate.door(AGENT), Request("GET", "https://api.ledger.test/items/7")).status == 200
            yield gate


def _made(gate: Gate) -> dict[Path, os.stat_result]:
    """What the process has made: not the files that the test wrote."""
    return {path: path.lstat() for place in ("var", "certs", "cache") for path in _below(gate.directory / place)}


def _below(place: Path) -> list[Path]:
    return [place, *place.rglob("*")]


def test_what_it_makes_is_its_own_and_nobody_elses_to_write(gate: Gate) -> None:
    made = _made(gate)
    assert len(made) > 8
    assert {status.st_uid for status in made.values()} == {os.geteuid() or NOBODY}
    assert [path for path, status in made.items() if status.st_mode & 0o022] == []


def test_state_and_keys_are_private(gate: Gate) -> None:
    modes = {path: stat.S_IMODE(status.st_mode) for path, status in _made(gate).items()}
    private = [path for path in modes if "var" in path.parts[-2:] or path.name.endswith("-key.pem")]
    assert len(private) >= 4
    assert {oct(modes[path]) for path in private} == {"0o700", "0o600"}


def test_only_root_is_warned(gate: Gate) -> None:
    assert WARNING not in gate.log()
