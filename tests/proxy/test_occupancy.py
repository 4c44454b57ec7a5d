"""What one agent may take of the proxy, and what strangers may."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from effectgate.policy.facts import RequestFacts
from effectgate.proxy.occupancy import Occupancy
from effectgate.proxy.settings import Limits

from .client import AUTH, Wire
from .harness import Proxy, eventually
from .http2 import Http2Wire, request
from .origins import Exchange, Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]


def hold(exchange: Exchange) -> None:
    """Take a request and never answer it."""
    exchange.head()
    while exchange.read():
        pass


def throttled(reply: Any) -> bool:
    """Whether this is the clear answer to too much at once."""
    told = (reply.status, reply.json()["reason_code"], reply.headers["retry-after"])
    return told == (429, "TEMPORAL_THROTTLE", "1")


def test_counts_come_back_to_nothing() -> None:
    book = Occupancy(Limits(requests_per_agent=1, connections_per_agent=1, held_bytes=3, held_bytes_per_agent=2))
    place = book.enter("a")
    assert place is not None
    assert book.enter("a") is None
    other = book.enter("b")
    assert other is not None
    assert [place.hold(2), place.hold(1), other.hold(2), other.hold(1)] == [True, False, False, True]
    assert [book.connect("a"), book.connect("a"), book.connect("b")] == [True, False, True]
    for one in (place, other, place):
        one.leave()
    for name in ("a", "b"):
        book.disconnect(name)
    assert not book.requests
    assert not book.connections
    assert not book.held


def test_too_many_connections_in_all_are_told(proxy: Make) -> None:
    gate = proxy(limits=Limits(connections=2))
    with gate.tunnel("allowed.test:443"), gate.tunnel("allowed.test:443"), gate.wire() as third:
        assert throttled(third.reply())
        assert third.closed()
    assert eventually(lambda: len(gate.engine.gate.sessions) == 0)
    gate.tunnel("allowed.test:443").sock.close()


def test_too_many_connections_of_one_agent_leave_room_for_others(proxy: Make) -> None:
    gate = proxy(limits=Limits(connections_per_agent=1))
    gate.tokens["Basic b3RoZXI="] = "other"
    with gate.tunnel("allowed.test:443"):
        with gate.wire() as second:
            answer = second.connect("allowed.test:443")
            assert throttled(answer)
            assert answer.reason == "TEMPORAL_THROTTLE"
        with gate.wire() as plain:
            plain.send(f"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n{AUTH}\r\n")
            assert throttled(plain.reply())
        with gate.wire() as other:
            assert other.connect("allowed.test:443", "Proxy-Authorization: Basic b3RoZXI=\r\n").status == 200
    assert [code for _, _, code, _ in gate.boundary.refused] == ["TEMPORAL_THROTTLE"] * 2
    assert eventually(lambda: not gate.engine.gate.sessions.occupancy.connections)
    gate.tunnel("allowed.test:443").sock.close()


def test_too_many_requests_in_flight_are_429(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin(hold)}, limits=Limits(requests_per_agent=1))
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        assert eventually(lambda: gate.engine.gate.sessions.occupancy.requests["agent"] == 1)
        assert throttled(gate.get("allowed.test"))
    assert eventually(lambda: not gate.engine.gate.sessions.occupancy.requests)


def test_requests_that_wait_for_their_decision_count_as_in_flight(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin()}, limits=Limits(requests_per_agent=3))
    gate.boundary.delay = 0.5
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        streams = [client.open(request("allowed.test")) for _ in range(8)]
        while not all(client.streams[stream].ended for stream in streams):
            client.pump()
        assert sorted(client.streams[stream].status for stream in streams) == [200] * 3 + [429] * 5
    assert len(gate.boundary.submitted) == 3


@pytest.mark.parametrize("framing", ["Content-Length: 2000", "Transfer-Encoding: chunked"])
def test_bodies_that_wait_for_their_decision_are_bounded_together(proxy: Make, framing: str) -> None:
    def inspect(facts: RequestFacts) -> int:
        return 2000

    gate = proxy(limits=Limits(held_bytes_per_agent=3000))
    gate.boundary.inspect = inspect
    with gate.tunnel("allowed.test:443") as first, gate.tunnel("allowed.test:443") as second:
        for wire in (first, second):
            wire.send(f"POST /held HTTP/1.1\r\nHost: allowed.test\r\n{framing}\r\n\r\n")
            assert eventually(lambda: gate.engine.gate.sessions.occupancy.held["agent"] == 2000)
        assert throttled(second.reply())
    assert eventually(lambda: not gate.engine.gate.sessions.occupancy.held)
    assert eventually(lambda: not gate.engine.gate.sessions.occupancy.requests)


def test_the_stranger_that_has_waited_longest_makes_room(proxy: Make) -> None:
    gate = proxy(limits=Limits(strangers=2))
    with gate.wire() as first, gate.wire() as second, gate.wire() as third:
        assert first.closed(5)
        assert third.connect("allowed.test:443").status == 200
        assert not second.closed(0.1)


def test_strangers_cannot_keep_an_agent_out(proxy: Make) -> None:
    gate = proxy(limits=Limits(connections=4))
    strangers = [gate.wire() for _ in range(12)]
    with gate.tunnel("allowed.test:443"):
        assert eventually(lambda: len(gate.engine.gate.sessions) <= 4)
    for wire in strangers:
        wire.sock.close()


@pytest.mark.parametrize("said", ["", "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n"])
def test_a_stranger_has_little_time(proxy: Make, said: str) -> None:
    gate = proxy(limits=Limits(head_seconds=0.4), recheck_seconds=0.1)
    with gate.wire() as wire:
        wire.send(said)
        started = time.monotonic()
        assert wire.closed(5)
        assert time.monotonic() - started < 4


def test_an_unused_connection_is_closed_and_a_used_one_is_not(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin(hold)}, limits=Limits(idle_seconds=0.4), recheck_seconds=0.1)
    with gate.tunnel("allowed.test:443") as idle, gate.tunnel("allowed.test:443") as used:
        used.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        assert idle.closed(5)
        assert not used.closed(0.5)


def test_pings_keep_no_connection_open(proxy: Make) -> None:
    gate = proxy(limits=Limits(idle_seconds=0.5), recheck_seconds=0.1)
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        closed = _pinging(client, wire, 5.0)
    assert closed


def _pinging(client: Http2Wire, wire: Wire, seconds: float) -> bool:
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            client.conn.ping(b"12345678")
            wire.send(client.conn.data_to_send())
            time.sleep(0.1)
    except OSError:
        return True
    return wire.closed(0.1)
