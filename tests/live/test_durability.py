"""Durable before the first byte leaves: an origin never sees a request whose ALLOW is not on disk, whatever ends the process."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from sqlite3 import connect
from subprocess import CompletedProcess

import pytest

from live.ask import Request, tls_1
from live.gate import Agent, Gate, effectgate, serving, wait
from live.ledger import Pair, ledger_gate, locked
from live.wire import Door, exchange
from origin.certificates import Authority
from origin.journal import Seen
from origin.server import Origins

AGENT = Agent("reader", ["ledger/read-items", "ledger/write-item"])
THREADS = 8
ENOUGH = 150  # requests at the origins before the process is killed
AT_MOST = 2000  # requests of one client
SECONDS = 20.0


@pytest.fixture(scope="module")
def pair(origins: Origins) -> Pair:
    return Pair.open(origins)


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory, pair: Pair, authority: Authority) -> Iterator[Gate]:
    with serving(ledger_gate(Gate, tmp_path_factory.mktemp("durable"), [AGENT], pair, authority)) as gate:
        yield gate


def _allowed_paths(gate: Gate) -> list[str]:
    return [
        receipt["args"]["path"]
        for receipt in gate.receipts()
        if (receipt["kind"], receipt["verdict"]) == ("decision", "ALLOW")
    ]


def _load(door: Door, client: int) -> None:
    """Requests on one kept-alive connection, each with a path of its own, until the proxy goes away."""
    secure = client % 2 == 0
    with (
        contextlib.suppress(OSError, HTTPException),
        door.secure("api.ledger.test:443") if secure else door.dial() as connection,
    ):
        for number in range(AT_MOST):
            request = Request("GET", f"https://api.ledger.test/items/{client}-{number}")
            plain = f"GET http://api.ledger.test{request.target} HTTP/1.1\r\nHost: api.ledger.test\r\n"
            login = ": ".join(door.authorization)
            exchange(connection, request.origin_form if secure else f"{plain}{login}\r\n\r\n".encode())


def test_a_kill_under_load_loses_no_receipt(gate: Gate, pair: Pair) -> None:
    door = gate.door(AGENT)
    clients = [threading.Thread(target=_load, args=(door, number), daemon=True) for number in range(THREADS)]
    for client in clients:
        client.start()
    assert wait(lambda: len(pair.requests()) >= ENOUGH, SECONDS), len(pair.requests())
    gate.stop(signal.SIGKILL)
    for client in clients:
        client.join(SECONDS)
    seen = [request.target.decode() for request in pair.requests()]
    allowed = _allowed_paths(gate)
    assert len(seen) >= ENOUGH
    assert len(seen) == len(set(seen))
    assert set(seen) <= set(allowed)
    gate.start()
    assert tls_1(gate.door(AGENT), Request("GET", "https://api.ledger.test/items/after")).status == 200
    verified = _verify(gate, *gate.stores())
    assert verified.returncode == 0, verified.stdout + verified.stderr


def _verify(gate: Gate, store: Path) -> CompletedProcess[str]:
    return effectgate("receipts", "verify", "--config", str(gate.config), "--store", str(store))


def test_the_allow_is_on_disk_when_the_origin_sees_the_request(
    gate: Gate, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, bool] = {}

    def look(seen: Seen) -> None:
        path = seen.target.decode()
        found[path] = path in _allowed_paths(gate)

    monkeypatch.setattr(pair.secure.journal, "on_head", look)
    for number in range(5):
        assert tls_1(gate.door(AGENT), Request("GET", f"https://api.ledger.test/items/{number}")).status == 200
    assert found == {f"/items/{number}": True for number in range(5)}


def test_a_command_beside_a_store_that_was_reopened_takes_no_receipt_with_it(gate: Gate, pair: Pair) -> None:
    (store,) = gate.stores()
    with locked(store):
        assert tls_1(gate.door(AGENT), Request("GET", "https://api.ledger.test/items/locked")).status == 503
    assert tls_1(gate.door(AGENT), Request("GET", "https://api.ledger.test/items/reopened")).status == 200
    assert effectgate("token", "new", "other", "--config", str(gate.config)).returncode == 0
    assert tls_1(gate.door(AGENT), Request("GET", "https://api.ledger.test/items/beside")).status == 200
    assert {"/items/reopened", "/items/beside"} <= set(_allowed_paths(gate))


def test_one_altered_byte_is_found(gate: Gate, tmp_path: Path) -> None:
    assert tls_1(gate.door(AGENT), Request("GET", "https://api.ledger.test/items/altered")).status == 200
    (store,), copy = gate.stores(), tmp_path / "receipts.db"
    with closing(connect(store)) as source, closing(connect(copy)) as target:
        source.backup(target)
        assert _verify(gate, copy).returncode == 0
        target.execute("UPDATE receipts SET body = replace(body, 'items/altered', 'items/alteree')")
        target.commit()
    verified = _verify(gate, copy)
    assert verified.returncode == 1, verified.stdout
    assert "edit" in verified.stdout + verified.stderr
