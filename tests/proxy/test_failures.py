"""Allowed, and then nothing came of it: 502 as JSON, and a completion that says which kind."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable

import pytest

from effectgate.proxy.failure import NEXT_STEPS, SENTENCES, DialError, classify

from .harness import Proxy, eventually
from .http2 import Http2Wire
from .origins import Exchange, Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]


def unused() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def silent(exchange: Exchange) -> None:
    exchange.read()
    time.sleep(2)


def hang_up(exchange: Exchange) -> None:
    exchange.head()


def nonsense(exchange: Exchange) -> None:
    exchange.head()
    exchange.send(b"SSH-2.0-nonsense\r\n\r\n")


def smuggle(exchange: Exchange) -> None:
    exchange.head()
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")


def upgrade(exchange: Exchange) -> None:
    exchange.head()
    exchange.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n")
    exchange.read()


def upgrade_websocket(exchange: Exchange) -> None:
    exchange.head()
    exchange.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    exchange.read()


SCRIPTS = {
    "closed": hang_up,
    "response": nonsense,
    "response ": smuggle,
    "upgrade": upgrade,
    "upgrade ": upgrade_websocket,
}


def assert_failed(gate: Proxy, kind: str, version: str = "http/1.1") -> None:
    with gate.tunnel("allowed.test:443", (version,)) as wire:
        if version == "h2":
            found = Http2Wire(wire).get("allowed.test")
            status, body, kind_of = found.status, found.body, found.headers["content-type"]
        else:
            wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
            answer = wire.reply()
            status, body, kind_of = answer.status, answer.body, answer.headers["content-type"]
    assert (status, kind_of) == (502, "application/json")
    assert SENTENCES[kind].encode() in body
    assert json.loads(body)["next_step"] == NEXT_STEPS[kind]
    outcome = gate.outcome()
    assert (outcome.success, outcome.error) == (False, kind)


@pytest.mark.parametrize("version", ["http/1.1", "h2"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_response_that_is_none(proxy: Make, origin: MakeOrigin, script: str, version: str) -> None:
    there = origin(SCRIPTS[script])
    assert_failed(proxy({("allowed.test", 443): there}), script.strip(), version)


@pytest.mark.parametrize("version", ["http/1.1", "h2"])
def test_nobody_listens(proxy: Make, version: str) -> None:
    assert_failed(proxy(resolve={("allowed.test", 443): ("127.0.0.1", unused())}), "connect", version)


def test_no_such_host(proxy: Make) -> None:
    assert_failed(proxy(), "resolve")


@pytest.mark.parametrize(("name", "ca"), [("other.test", "origins"), ("allowed.test", "strangers")])
def test_a_certificate_that_does_not_verify(proxy: Make, origin: MakeOrigin, name: str, ca: str) -> None:
    there = origin(name=name, ca=ca)
    assert_failed(proxy({("allowed.test", 443): there}), "certificate")
    assert there.received == b""


def test_an_origin_that_does_not_speak_tls(proxy: Make, origin: MakeOrigin) -> None:
    def speak(exchange: Exchange) -> None:
        exchange.read()
        exchange.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    assert_failed(proxy({("allowed.test", 443): origin(speak, tls=False)}), "tls")


def test_an_origin_that_never_answers_the_handshake(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin(silent, tls=False)}, handshake_seconds=0.3)
    begun = time.monotonic()
    assert_failed(gate, "timeout")
    assert time.monotonic() - begun < 1.5


def test_an_origin_that_never_accepts(proxy: Make) -> None:
    """A listener whose backlog is full drops the SYN, as a dead host does."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        time.sleep(0.05)
        gate = proxy(resolve={("allowed.test", 443): ("127.0.0.1", port)}, connect_seconds=0.3)
        assert_failed(gate, "timeout")
        for filler in fillers:
            filler.close()


def test_a_resolver_that_hangs(proxy: Make) -> None:
    gate = proxy(resolve_seconds=0.2)
    gate.names.table["allowed.test"] = ["93.184.216.34"]
    gate.names.delay = 1.0
    assert_failed(gate, "resolve")


def test_an_origin_that_dies_in_the_middle_ends_the_response(proxy: Make, origin: MakeOrigin) -> None:
    def half(exchange: Exchange) -> None:
        exchange.head()
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")

    gate = proxy({("allowed.test", 443): origin(half)})
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        with pytest.raises(EOFError):
            wire.reply()
    outcome = gate.outcome()
    assert (outcome.success, outcome.status, outcome.bytes_received, outcome.error) == (False, 200, 4, "closed")


def test_a_client_that_leaves_is_an_aborted_completion(proxy: Make, origin: MakeOrigin) -> None:
    def begin(exchange: Exchange) -> None:
        exchange.head()
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        exchange.read()

    gate = proxy({("allowed.test", 443): origin(begin)})
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        assert wire.sock.recv(10)
    outcome = gate.outcome()
    assert (outcome.success, outcome.aborted, outcome.status) == (False, True, 200)


def test_a_client_that_leaves_while_it_is_decided_reaches_nothing(proxy: Make, origin: MakeOrigin) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.delay = 0.3
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        time.sleep(0.1)
    outcome = gate.outcome()
    assert (outcome.success, outcome.aborted, there.received) == (False, True, b"")


def test_a_bad_chunk_that_has_arrived_with_its_head_is_seen_before_any_decision(
    proxy: Make, origin: MakeOrigin
) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("POST / HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcXX0\r\n\r\n")
        assert wire.reply().status == 400
        assert wire.closed()
    assert (gate.boundary.submitted, there.accepts, gate.names.asked) == ([], 0, [])


def test_a_bad_chunk_that_arrives_later_is_answered_and_goes_no_further(proxy: Make, origin: MakeOrigin) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("POST / HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc")
        assert eventually(lambda: b"abc" in there.received)
        wire.send("XX0\r\n\r\n")
        answer = wire.reply()
        assert (answer.status, answer.json()["reason_code"]) == (400, "ENVELOPE_INVALID")
        assert wire.closed()
    outcome = gate.outcome()
    assert (outcome.success, outcome.aborted) == (False, True)
    assert b"\r\n0\r\n\r\n" not in there.received


@pytest.mark.parametrize("version", ["http/1.1", "h2"])
def test_http1_trailers_and_early_hints_of_an_origin(proxy: Make, origin: MakeOrigin, version: str) -> None:
    def hints(exchange: Exchange) -> None:
        exchange.head()
        exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n")
        exchange.read()

    gate = proxy({("allowed.test", 443): origin(hints)})
    with gate.tunnel("allowed.test:443", (version,)) as wire:
        if version == "h2":
            assert Http2Wire(wire).get("allowed.test").body == b"abc"
        else:
            wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
            assert wire.reply().body == b"abc"


@pytest.mark.parametrize("kind", SENTENCES)
def test_every_kind_survives_mitmproxy(kind: str) -> None:
    found = classify(str(DialError(kind, "detail")))
    assert (found.kind, found.detail) == (kind, "detail")
    assert classify(f"Multiple exceptions: {DialError(kind, 'a')}, {DialError(kind, 'b')}").kind == kind


@pytest.mark.parametrize(
    "text", ["unexpected server response: b'effectgate:address:x'", "effectgate:nothing:x", "", "[Errno 111]"]
)
def test_text_from_the_wire_names_no_kind(text: str) -> None:
    assert classify(text).kind in ("response", "connect")
