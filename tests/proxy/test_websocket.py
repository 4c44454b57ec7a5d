"""WebSocket only where the decision says so; then messages pass, bounded, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .client import AUTH
from .harness import Proxy, eventually
from .origins import Exchange, Origin
from .ws import ACCEPT, frame, handshake, websocket_origin

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
    assert b"second" not in there.received
    assert b"third" not in there.received


def test_fragments_without_end_are_not_held_for_ever(
    proxy: Make, origin: MakeOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("effectgate.proxy.websocket.MESSAGE_BYTES", 10_000)
    gate = proxy({("allowed.test", 443): origin(websocket_origin)})
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        wire.send(frame(b"", masked=True, final=False))
        for _ in range(400):
            wire.send(frame(b"", masked=True, opcode=0, final=False))
        assert wire.rest()[:2] == b"\x88\x02"
