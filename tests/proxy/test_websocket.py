"""WebSocket only where the decision says so; then messages pass, bounded, and nothing else does."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable

import pytest

from effectgate.proxy.websocket import FRAGMENT_BYTES

from .client import AUTH
from .harness import Proxy, eventually
from .origins import Exchange, Origin
from .ws import ACCEPT, frame, handshake, heard, websocket_origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_messages_pass_and_are_counted(proxy: Make, origin: MakeOrigin, scheme: str) -> None:
    there = origin(websocket_origin, tls=scheme == "https")
    gate = proxy({("allowed.test", 443 if scheme == "https" else 80): there})
    with gate.tunnel("allowed.test:443") if scheme == "https" else gate.wire() as wire:
        target, auth = ("/ws", "") if scheme == "https" else ("http://allowed.test/ws", AUTH)
        answer = handshake(wire, "allowed.test", target, auth)
        assert (answer.status, answer.headers["sec-websocket-accept"]) == (101, ACCEPT)
        assert answer.headers["x-effectgate-verdict"] == "ALLOW"
        wire.send(frame(b"hello", masked=True))
        assert wire.sock.recv(100) == frame(b"hi", masked=False)
        wire.send(frame(b"\x03\xe8", masked=True, opcode=8))
        assert wire.closed()
    assert gate.boundary.submitted[0].websocket
    assert b"permessage-deflate" not in there.received
    outcome = gate.outcome()
    assert (outcome.success, outcome.status, outcome.bytes_sent, outcome.bytes_received) == (True, 101, 5, 2)


def test_a_denied_handshake_reaches_nothing(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(websocket_origin)
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.allow = lambda facts: not facts.websocket
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 403
    assert there.accepts == 0


def test_bytes_sent_before_the_answer_are_messages_or_nothing(proxy: Make, origin: MakeOrigin) -> None:
    """RFC 6455 section 4.1 has the client wait; a second request in their place must not pass unseen."""

    def refuse(exchange: Exchange) -> None:
        exchange.head()
        exchange.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        exchange.read()

    there = origin(refuse)
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(
            "GET /ws HTTP/1.1\r\nHost: allowed.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            "GET /denied HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
        )
        assert wire.reply().status == 400
        assert wire.reply().status == 403
    assert b"/denied" not in there.received


def test_what_is_no_frame_ends_the_connection(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(websocket_origin)
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        wire.send("GET /denied HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        assert wire.closed()
    assert b"/denied" not in there.received


def test_a_message_without_end_is_not_held_for_ever(
    proxy: Make, origin: MakeOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("effectgate.proxy.websocket.MESSAGE_BYTES", 300_000)
    gate = proxy({("allowed.test", 443): origin(websocket_origin)})
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        wire.send(frame(b"x" * 100_000, masked=True, final=False))
        for _ in range(5):
            wire.send(frame(b"x" * 100_000, masked=True, opcode=0, final=False))
        assert wire.closed()
    assert eventually(lambda: bool(gate.boundary.completed))


def test_messages_are_forgotten(proxy: Make, origin: MakeOrigin) -> None:
    kept: list[int] = []
    gate = proxy({("allowed.test", 443): origin(websocket_origin)})

    class Counter:
        name = "counter"

        def websocket_message(self, flow: object) -> None:
            kept.append(len(flow.websocket.messages))  # type: ignore[attr-defined]

    gate.engine.master.addons.chain.append(Counter())
    with gate.tunnel("allowed.test:443") as wire:
        handshake(wire, "allowed.test")
        for _ in range(20):
            wire.send(frame(b"hello", masked=True))
            wire.sock.recv(100)
    assert set(kept) == {0}


def test_messages_stop_where_the_limit_of_uploads_does(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(websocket_origin)
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.upload_left = 10
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        wire.send(frame(b"first!", masked=True))
        assert wire.sock.recv(100) == frame(b"hi", masked=False)
        wire.send(frame(b"second", masked=True) + frame(b"third", masked=True))
        assert wire.rest() == frame(b"\x03\xf0", masked=False, opcode=8)  # 1008, policy violation
    outcome = gate.outcome()
    assert (outcome.bytes_sent, outcome.error, outcome.success) == (6, "budget", False)
    assert eventually(lambda: heard(there.received) == [(1, b"first!"), (8, b"\x03\xf0")]), heard(there.received)


@pytest.mark.parametrize("at_once", [True, False])
def test_fragments_without_end_are_not_held_for_ever(
    proxy: Make, origin: MakeOrigin, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    monkeypatch.setattr("effectgate.proxy.websocket.MESSAGE_BYTES", 10_000)
    gate = proxy({("allowed.test", 443): origin(websocket_origin)})
    with gate.tunnel("allowed.test:443") as wire:
        wire.sock.settimeout(20)  # a machine under load is slow; where fragments are held, nothing ever comes
        assert handshake(wire, "allowed.test").status == 101
        # The last of them is the one too many: what came behind it would meet a reset, which can eat the answer.
        more = 10_000 // FRAGMENT_BYTES - 1
        wire.send(frame(b"", masked=True, final=False))
        if at_once:
            wire.send(frame(b"", masked=True, opcode=0, final=False) * more)
        else:
            for _ in range(more):
                wire.send(frame(b"", masked=True, opcode=0, final=False))
        assert wire.rest()[:2] == b"\x88\x02"


def pinging_origin(exchange: Exchange) -> None:
    """Accepts, pings, and closes with a reason once it has heard a close."""
    exchange.head()
    exchange.send(
        f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {ACCEPT}\r\n\r\n".encode()
        + frame(b"are you there", masked=False, opcode=9)
        + frame(b"unasked", masked=False, opcode=10)
    )
    while (2, b"the end") not in heard(exchange.origin.received):
        if not exchange.read():
            return
    exchange.send(frame(b"\x03\xe8so be it", masked=False, opcode=8))


def test_control_frames_are_counted_and_not_logged(
    proxy: Make, origin: MakeOrigin, caplog: pytest.LogCaptureFixture
) -> None:
    there = origin(pinging_origin)
    gate = proxy({("allowed.test", 443): there})
    caplog.set_level(logging.DEBUG, "mitmproxy")  # the engine hides its INFO; not even an operator who asks gets these
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        said = frame(b"are you there", masked=False, opcode=9) + frame(b"unasked", masked=False, opcode=10)
        assert wire.exactly(len(said)) == said
        wire.send(frame(b"secret ping", masked=True, opcode=9) + frame(b"secret pong", masked=True, opcode=10))
        wire.send(frame(b"the end", masked=True, opcode=2))
        assert wire.rest() == frame(b"\x03\xe8so be it", masked=False, opcode=8)
    outcome, up, down = gate.outcome(), b"secret pingsecret pongthe end", b"are you thereunaskedso be it"
    assert (outcome.bytes_sent, outcome.request_sha256) == (len(up), hashlib.sha256(up).hexdigest())
    assert (outcome.bytes_received, outcome.response_sha256) == (len(down), hashlib.sha256(down).hexdigest())
    assert heard(there.received)[:3] == [(9, b"secret ping"), (10, b"secret pong"), (2, b"the end")]
    assert "secret" not in caplog.text
    assert "are you there" not in caplog.text


def test_the_reason_of_a_close_is_counted(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(websocket_origin)
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        wire.send(frame(b"\x03\xe8a reason", masked=True, opcode=8))
        assert wire.rest() == frame(b"\x03\xe8a reason", masked=False, opcode=8)
    outcome = gate.outcome()
    assert (outcome.success, outcome.bytes_sent) == (True, 8)
    assert outcome.request_sha256 == hashlib.sha256(b"a reason").hexdigest()
    assert eventually(lambda: heard(there.received) == [(8, b"\x03\xe8a reason")]), heard(there.received)


@pytest.mark.parametrize("opcode", [9, 10])
def test_pings_stop_where_the_limit_of_uploads_does(proxy: Make, origin: MakeOrigin, opcode: int) -> None:
    there = origin(websocket_origin)
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.upload_left = 10
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        wire.send(frame(b"first!", masked=True, opcode=opcode))
        assert wire.exactly(4) == frame(b"hi", masked=False)
        wire.send(frame(b"second", masked=True, opcode=opcode) + frame(b"3", masked=True, opcode=opcode))
        assert wire.rest() == frame(b"\x03\xf0", masked=False, opcode=8)
    outcome = gate.outcome()
    assert (outcome.bytes_sent, outcome.error, outcome.success) == (6, "budget", False)
    assert eventually(lambda: heard(there.received) == [(opcode, b"first!"), (8, b"\x03\xf0")]), heard(there.received)


def test_the_reason_of_a_close_stops_where_the_limit_of_uploads_does(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(websocket_origin)
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.upload_left = 10
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        wire.send(frame(b"\x03\xe8eleven more", masked=True, opcode=8))
        assert wire.rest() == frame(b"\x03\xf0", masked=False, opcode=8)
    outcome = gate.outcome()
    assert (outcome.bytes_sent, outcome.error, outcome.success) == (0, "budget", False)
    assert eventually(lambda: heard(there.received) == [(8, b"\x03\xf0")]), heard(there.received)


@pytest.mark.parametrize("reason", [b"", b"\x03\xe8"])
def test_a_close_without_a_reason_needs_no_upload(proxy: Make, origin: MakeOrigin, reason: bytes) -> None:
    gate = proxy({("allowed.test", 443): origin(websocket_origin)})
    gate.boundary.upload_left = 0
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        wire.send(frame(reason, masked=True, opcode=8))
        assert wire.rest()[:1] == b"\x88"
    outcome = gate.outcome()
    assert (outcome.success, outcome.bytes_sent) == (True, 0)
