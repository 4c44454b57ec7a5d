"""HTTP/2 frame by frame: what is malformed is answered and told, what floods ends, and neither reaches an origin."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable

import pytest

from . import frames
from .frames import END_HEADERS, FrameWire, frame, headers
from .harness import Proxy, eventually
from .origins import Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]

GOOD = [(":method", "GET"), (":scheme", "https"), (":authority", "allowed.test"), (":path", "/")]
POST = [(":method", "POST"), *GOOD[1:]]


@pytest.fixture
def reachable(proxy: Make, origin: MakeOrigin) -> tuple[Proxy, Origin]:
    there = origin()
    return proxy({("allowed.test", 443): there}), there


def test_a_malformed_head_is_refused_and_the_connection_goes_on(reachable: tuple[Proxy, Origin]) -> None:
    gate, there = reachable
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = FrameWire(wire)
        client.send(headers(1, [*GOOD, ("x-a", "b\r\nx-c: d")]), headers(3, GOOD))
        heard = client.until(1, 3)
    assert (heard.status(1), heard.status(3)) == (400, 200)
    told = json.loads(heard.bodies[1])
    assert (told["reason_code"], told["receipt_id"]) == ("ENVELOPE_INVALID", "r-1")
    assert [(principal, code) for principal, _, code, _ in gate.boundary.refused] == [("agent", "ENVELOPE_INVALID")]
    assert there.received.count(b"HTTP/1.1") == 1


def test_the_body_of_a_malformed_request_is_dropped(reachable: tuple[Proxy, Origin]) -> None:
    gate, there = reachable
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = FrameWire(wire)
        client.send(headers(1, [*POST, ("upgrade", "h2c")], END_HEADERS), frame(frames.DATA, 1, b"x" * 1000))
        client.send(headers(3, GOOD))
        heard = client.until(1, 3)
    assert (heard.status(1), heard.resets.get(1), heard.status(3)) == (400, 1, 200)
    assert b"xxx" not in there.received


def test_a_malformed_head_asks_for_no_body(reachable: tuple[Proxy, Origin]) -> None:
    gate, _ = reachable
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = FrameWire(wire)
        client.send(headers(1, [(":method", "HEAD"), *GOOD[1:], ("X-A", "b")]))
        heard = client.until(1)
    assert (heard.status(1), heard.bodies.get(1, b"")) == (400, b"")


@pytest.mark.parametrize("inspect", [0, 100])
def test_malformed_trailers_end_their_request(reachable: tuple[Proxy, Origin], inspect: int) -> None:
    gate, there = reachable
    gate.boundary.inspect = lambda facts: inspect
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = FrameWire(wire)
        client.send(headers(1, POST, END_HEADERS), frame(frames.DATA, 1, b"abc"), headers(1, [(":path", "/denied")]))
        client.send(headers(3, GOOD))
        heard = client.until(1, 3)
        assert (heard.resets.get(1), heard.status(3)) == (1, 200)
    assert "a pseudo-header among the trailers" in gate.boundary.refused[0][3]
    assert eventually(lambda: len(gate.boundary.completed) == (1 if inspect else 2))
    assert b"0\r\n\r\n" not in there.received


BROKEN = {
    "DATA on an idle stream": frame(frames.DATA, 1, b"abc"),
    "an even stream": headers(2, GOOD),
    "a frame in a header block": frame(frames.HEADERS, 1) + frame(frames.PING, 0, b"12345678"),
    "a header block that is not HPACK": frame(frames.HEADERS, 1, b"\x80", 5),
    "a header block without end": frame(frames.HEADERS, 1) + frame(frames.CONTINUATION, 1, b"") * 200,
    "a length that lies": headers(1, [*POST, ("content-length", "3")], END_HEADERS) + frame(frames.DATA, 1, b"abcd"),
    "a promise": frame(frames.PUSH_PROMISE, 1, b"\0\0\0\2", END_HEADERS),
}


@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN)
def test_a_broken_protocol_is_told_before_the_connection_ends(reachable: tuple[Proxy, Origin], sent: bytes) -> None:
    gate, there = reachable
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = FrameWire(wire)
        client.send(sent)
        assert client.until_closed().goaway == 1
    assert [code for _, _, code, _ in gate.boundary.refused] == ["ENVELOPE_INVALID"]
    assert b"HTTP/1.1" not in there.received
    assert gate.get("allowed.test").status == 200


def test_a_broken_protocol_without_a_principal_leaves_no_receipt(reachable: tuple[Proxy, Origin]) -> None:
    gate, _ = reachable
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        gate.tokens.clear()
        client = FrameWire(wire)
        client.send(headers(2, GOOD))
        client.until_closed()
    assert gate.boundary.refused == []


FLOODS = {
    "pings": frame(frames.PING, 0, b"12345678") * 3000,
    "settings": frame(frames.SETTINGS, 0, struct.pack(">HI", 4, 65535)) * 3000,
    "acknowledgements": frame(frames.SETTINGS, 0, b"", frames.ACK) * 3000,
    "priorities": b"".join(frame(frames.PRIORITY, stream, b"\0\0\0\0\0") for stream in range(1, 6001, 2)),
    "unknown frames": frame(0x77) * 3000,
    "empty data": headers(1, POST, END_HEADERS) + frame(frames.DATA, 1) * 3000,
    "padding alone": headers(1, POST, END_HEADERS) + frame(frames.DATA, 1, b"\x0f" + b"\0" * 15, frames.PADDED) * 3000,
    "resets": b"".join(headers(s, GOOD) + frame(frames.RST_STREAM, s, b"\0\0\0\x08") for s in range(1, 1001, 2)),
}


@pytest.mark.parametrize("sent", FLOODS.values(), ids=FLOODS)
def test_a_flood_ends(reachable: tuple[Proxy, Origin], sent: bytes) -> None:
    gate, _ = reachable
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = FrameWire(wire)
        client.send(sent)
        assert client.until_closed().goaway == 11  # ENHANCE_YOUR_CALM
    # Requests that came while too many were in flight may be among them.
    assert {code for _, _, code, _ in gate.boundary.refused} == {"TEMPORAL_THROTTLE"}
    assert gate.get("allowed.test").status == 200
    assert eventually(lambda: not gate.engine.gate.sessions.occupancy.requests)


def test_pings_of_an_honest_client_are_answered(reachable: tuple[Proxy, Origin]) -> None:
    gate, _ = reachable
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = FrameWire(wire)
        client.send(frame(frames.PING, 0, b"12345678") * 50, headers(1, GOOD))
        heard = client.until(1)
    assert heard.status(1) == 200
    assert heard.kinds.count(frames.PING) == 50
