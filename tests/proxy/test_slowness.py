"""Clients that do not go on: with a head, with a body, with reading what they asked for."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from effectgate.proxy import backlog
from effectgate.proxy.settings import Limits

from .client import Wire
from .harness import Proxy, eventually
from .http2 import Http2Wire, request
from .origins import Exchange, Origin
from .ws import frame, handshake, websocket_origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]
SOON = 0.5
HEAD = "POST /up HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 100\r\n\r\n"


def told(gate: Proxy) -> list[tuple[str, str]]:
    """Principal and reason of every refusal so far."""
    return [(principal, str(code)) for principal, _, code, _ in gate.boundary.refused]


def dripped(wire: Wire, data: str, every: float) -> Iterator[None]:
    """Send byte by byte, for as long as the other side takes it."""
    with contextlib.suppress(OSError):
        for byte in data:
            wire.send(byte)
            yield time.sleep(every)


@pytest.mark.parametrize("drips", [False, True], ids=["stops", "drips"])
def test_a_head_has_to_arrive_whole_in_time(proxy: Make, drips: bool) -> None:
    gate = proxy(limits=Limits(head_seconds=SOON))
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("GET / HTTP/1.1\r\nX: ")
        for _ in dripped(wire, "a" * 12 if drips else "", 0.1):
            pass
        answer = wire.reply()
        assert (answer.status, answer.json()["reason_code"]) == (408, "TEMPORAL_THROTTLE")
        assert wire.closed()
    assert told(gate) == [("agent", "TEMPORAL_THROTTLE")]


def test_the_slow_head_of_a_stranger_has_no_receipt(proxy: Make) -> None:
    gate = proxy(limits=Limits(head_seconds=SOON), recheck_seconds=5)
    with gate.wire() as wire:
        wire.send("CONNECT allowed.test:443 HT")
        assert wire.reply().status == 408
    assert told(gate) == []


def test_a_head_in_two_pieces_is_served(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin()}, limits=Limits(head_seconds=1))
    with gate.tunnel("allowed.test:443") as wire:
        for _ in range(3):
            wire.send("GET / HTTP/1.1\r\nHo")
            time.sleep(0.05)
            wire.send("st: allowed.test\r\n\r\n")
            assert wire.reply().status == 200
        time.sleep(1.2)  # the watch over each of those heads has ended
        wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        assert wire.reply().status == 200


@pytest.mark.parametrize("held", [True, False], ids=["held", "streamed"])
@pytest.mark.parametrize("version", ["http/1.1", "h2"])
def test_a_body_that_stops_is_told(proxy: Make, origin: MakeOrigin, held: bool, version: str) -> None:
    def take(exchange: Exchange) -> None:
        while exchange.read():
            pass

    gate = proxy({("allowed.test", 443): origin(take)}, limits=Limits(body_seconds=SOON))
    if held:
        gate.boundary.inspect = lambda facts: 1000
    with gate.tunnel("allowed.test:443", (version,)) as wire:
        if version == "h2":
            client = Http2Wire(wire)
            stream = client.open(request("allowed.test", "/up", "POST"), end=False)
            client.data(stream, b"x" * 10)
            found = client.wait(stream)
            status, body = found.status, found.body
        else:
            wire.send(HEAD + "x" * 10)
            answer = wire.reply()
            status, body = answer.status, answer.body
    assert status == 408
    assert b"TEMPORAL_THROTTLE" in body
    if held:
        assert told(gate) == [("agent", "TEMPORAL_THROTTLE")]
        assert gate.boundary.submitted == []
    else:
        assert (gate.outcome().error, gate.outcome().bytes_sent) == ("sender", 10)
    assert eventually(lambda: not gate.engine.gate.sessions.occupancy.requests)
    assert not gate.engine.gate.sessions.occupancy.held


def test_a_body_has_to_make_progress(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin()}, limits=Limits(body_seconds=SOON, body_bytes=20))
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(HEAD)
        for _ in dripped(wire, "x" * 20, 0.1):
            pass
        assert wire.reply().status == 408


def test_a_slow_body_that_goes_on_is_taken(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin()}, limits=Limits(body_seconds=1, body_bytes=1))
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(HEAD)
        for _ in range(10):
            time.sleep(0.25)
            wire.send("x" * 10)
        assert wire.reply().status == 200


def test_a_body_may_rest_once_the_origin_answers(proxy: Make, origin: MakeOrigin) -> None:
    def answer_at_once(exchange: Exchange) -> None:
        exchange.head()
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nfir")
        while data := exchange.read():
            if b"end" in data:
                exchange.send(b"end")

    gate = proxy({("allowed.test", 443): origin(answer_at_once)}, limits=Limits(body_seconds=SOON))
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        stream = client.open(request("allowed.test", "/up", "POST"), end=False)
        while not client.streams[stream].body:
            client.pump()
        time.sleep(2 * SOON)
        client.data(stream, b"end", end=True)
        assert client.wait(stream).body == b"first"[:3] + b"end"


def endless(exchange: Exchange) -> None:
    """A response that ends only with its reader."""
    exchange.head()
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
    while True:
        exchange.send(b"x" * 65536)


@pytest.mark.parametrize("version", ["http/1.1", "h2"])
def test_a_response_left_unread_is_given_up(
    proxy: Make, origin: MakeOrigin, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "BACKLOG_BYTES", 65536)
    gate = proxy({("allowed.test", 443): origin(endless)}, limits=Limits(read_seconds=SOON))
    with gate.tunnel("allowed.test:443", (version,)) as wire:
        wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        if version == "h2":
            Http2Wire(wire).open(request("allowed.test"))
        else:
            wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        assert eventually(lambda: bool(gate.boundary.completed), 15)
        outcome = gate.outcome()
        assert (outcome.error, outcome.aborted, outcome.success) == ("reader", True, False)
        assert outcome.bytes_received < 50_000_000  # what the kernel and we hold of it
        assert eventually(lambda: len(gate.engine.gate.sessions) == 0, 10)


def test_an_origin_that_takes_no_upload_is_given_up(proxy: Make, origin: MakeOrigin) -> None:
    def deaf(exchange: Exchange) -> None:
        exchange.head()
        time.sleep(5)

    gate = proxy({("allowed.test", 443): origin(deaf)}, limits=Limits(read_seconds=SOON, body_seconds=SOON))
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("POST /up HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 100000000\r\n\r\n")
        with contextlib.suppress(OSError):
            for _ in range(1000):
                wire.send("x" * 65536)
        assert gate.outcome().error == "timeout"  # the origin's fault, not the sender's


def test_a_connection_on_which_nothing_moves_is_closed(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin(websocket_origin)}, limits=Limits(quiet_seconds=1.5))
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        for _ in range(4):
            time.sleep(0.5)
            wire.send(frame(b"more", masked=True))
        assert not wire.closed(0.2)
        assert wire.closed(6)
    assert gate.outcome().status == 101
