"""An origin that hangs, refuses or breaks off at each stage: a reason in time, every ALLOW closed with it, and other origins are served meanwhile."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from http.client import IncompleteRead
from pathlib import Path

import pytest

from live.ask import Request, plain, tls_1, tls_2
from live.gate import Agent, Gate, serving, wait
from live.ledger import Pair, ledger_gate
from live.load import loaded, never_closed, serves, unreceipted
from live.wire import Door, Response
from origin.certificates import Authority
from origin.server import Origins

AGENT = Agent("reader", ["ledger/read-items", "ledger/read-package", "ledger/read-shop"])
FILES = Request("GET", "https://files.ledger.test/tool")


class HastyGate(Gate):
    """A gate that gives up after a second."""

    program = (str(Path(__file__).with_name("hasty_serve.py")),)


Script = Callable[[socket.socket], None]


def silent(peer: socket.socket) -> None:
    while peer.recv(65536):
        pass


def half_a_head(peer: socket.socket) -> None:
    peer.recv(65536)
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-")
    silent(peer)


def half_a_body(peer: socket.socket) -> None:
    peer.recv(65536)
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
    silent(peer)


def hang_up(peer: socket.socket) -> None:
    peer.recv(65536)


def reset(peer: socket.socket) -> None:
    peer.recv(1)  # what is left unread makes the kernel reset the connection


class Scripted:
    """A listener whose behaviour a test sets."""

    def __init__(self) -> None:
        self.script: Script = hang_up
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            self.script(peer)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.fixture(scope="module")
def scripted() -> Iterator[Scripted]:
    origin = Scripted()
    yield origin
    origin.close()


@pytest.fixture(scope="module")
def pair(origins: Origins) -> Pair:
    return Pair.open(origins)


@pytest.fixture(scope="module")
def gate(
    tmp_path_factory: pytest.TempPathFactory, pair: Pair, authority: Authority, scripted: Scripted
) -> Iterator[Gate]:
    gate = ledger_gate(HastyGate, tmp_path_factory.mktemp("hasty"), [AGENT], pair, authority)
    with socket.socket() as deaf:  # bound and not listening: connections are refused
        deaf.bind(("127.0.0.1", 0))
        refusing = {f"acme.shop.test:{port}": f"127.0.0.1:{deaf.getsockname()[1]}" for port in (80, 443)}
        broken = {f"files.ledger.test:{port}": scripted.address for port in (80, 443)}
        gate.configure([AGENT], network={**gate.settings["network"], "resolve": pair.answers | refusing | broken})
        with serving(gate):
            yield gate


@contextlib.contextmanager
def _others_are_served(gate: Gate, pair: Pair) -> Iterator[None]:
    door = gate.door(AGENT)
    with loaded(door) as load:
        yield
    assert {answer.status for answer in load.answers} <= {200}
    assert serves(gate, door)
    assert unreceipted(gate, pair) == set()
    assert wait(lambda: never_closed(gate) == 0), "an ALLOW was never closed"


Ask = Callable[[Door, Request], Response]
TABLE: tuple[tuple[Ask, Script, str], ...] = (
    (plain, silent, "timeout"),
    (plain, half_a_head, "timeout"),
    (plain, hang_up, "closed"),
    (plain, reset, "closed"),
    (tls_1, silent, "timeout"),
    (tls_2, silent, "timeout"),
    (tls_1, hang_up, "closed"),
    (tls_1, half_a_head, "tls"),
)


@pytest.mark.parametrize(
    ("ask", "script", "failure"), TABLE, ids=[f"{ask.__name__}-{script.__name__}" for ask, script, _ in TABLE]
)
def test_an_origin_that_gives_no_answer(
    gate: Gate, pair: Pair, scripted: Scripted, ask: Ask, script: Script, failure: str
) -> None:
    scripted.script = script
    with _others_are_served(gate, pair):
        answer = ask(gate.door(AGENT), FILES)
        assert (answer.status, answer.json["failure"]) == (502, failure)
        assert answer.json["reason"]
        assert answer.json["next_step"]
    failed = [
        receipt for receipt in gate.receipts() if receipt["kind"] == "completion" and not receipt["output"]["success"]
    ]
    assert failed[-1]["output"]["error"] == failure


def test_an_origin_that_stops_in_the_middle_is_cut_off(gate: Gate, pair: Pair, scripted: Scripted) -> None:
    scripted.script = half_a_body
    with _others_are_served(gate, pair), pytest.raises(IncompleteRead):
        plain(gate.door(AGENT), FILES)


@pytest.mark.parametrize("ask", [plain, tls_1, tls_2])
def test_an_origin_that_refuses(gate: Gate, pair: Pair, ask: Ask) -> None:
    with _others_are_served(gate, pair):
        answer = ask(gate.door(AGENT), Request("GET", "https://acme.shop.test/status"))
        assert (answer.status, answer.json["failure"]) == (502, "connect")
