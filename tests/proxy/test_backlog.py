"""Memory is bounded by what the slower side takes, and one slow stream does not stop the others."""

from __future__ import annotations

import time
from collections.abc import Callable

import h2.config
import h2.connection
import h2.events
import pytest

from effectgate.proxy import backlog

from .harness import Proxy, eventually
from .http2 import Http2Wire, request
from .origins import Exchange, Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]
LIMIT = 256 * 1024
MUCH = 40 * LIMIT


@pytest.fixture(autouse=True)
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that a test reaches quickly."""
    monkeypatch.setattr(backlog, "BACKLOG_BYTES", LIMIT)


def test_an_http2_client_that_opens_no_window_stops_the_origin(proxy: Make, origin: MakeOrigin) -> None:
    sent = 0

    def much(exchange: Exchange) -> None:
        nonlocal sent
        exchange.head()
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % MUCH)
        while sent < MUCH:
            exchange.send(b"x" * 65536)
            sent += 65536

    gate = proxy({("allowed.test", 443): origin(much)})
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        stream = client.open(request("allowed.test"))
        assert eventually(lambda: sent > LIMIT, 10)
        time.sleep(0.3)
        assert sent < MUCH  # the rest lies in socket buffers
        assert client.get("denied.test", "/other").status == 400  # the connection is not stuck
        while len(client.streams[stream].body) < 3 * LIMIT:
            client.pump()


def test_an_http2_origin_that_opens_no_window_stops_the_client(proxy: Make, origin: MakeOrigin) -> None:
    def slow(exchange: Exchange) -> None:
        conn = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        conn.initiate_connection()
        exchange.send(conn.data_to_send())
        while data := exchange.read():
            if any(isinstance(event, h2.events.ConnectionTerminated) for event in conn.receive_data(data)):
                return
            exchange.send(conn.data_to_send())

    gate = proxy({("allowed.test", 443): origin(slow, alpn=("h2",))})
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        stream = client.open(request("allowed.test", "/up", "POST"), end=False)
        wire.sock.settimeout(1)
        try:
            client.data(stream, b"x" * MUCH)
        except TimeoutError:
            pass
        else:
            raise AssertionError("all of it was taken")


def test_more_than_five_streams_reach_one_http1_origin(proxy: Make, origin: MakeOrigin) -> None:
    def hold(exchange: Exchange) -> None:
        exchange.head()
        exchange.read()

    there = origin(hold)
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        for _ in range(12):
            client.open(request("allowed.test"))
        assert eventually(lambda: there.received.count(b"GET / HTTP/1.1") == 12, 5)


def test_what_an_origin_may_not_say_is_not_passed_on(proxy: Make, origin: MakeOrigin) -> None:
    def lie(exchange: Exchange) -> None:
        exchange.head()
        exchange.send(
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Effectgate-Verdict: DENY\r\nProxy-Authenticate: Basic\r\n"
            b'Alt-Svc: h3=":443"\r\nX-Other: kept\r\n\r\n'
        )
        exchange.read()

    answer = proxy({("allowed.test", 443): origin(lie)}).get("allowed.test")
    assert answer.headers["x-effectgate-verdict"] == "ALLOW"
    assert answer.headers["x-other"] == "kept"
    assert not {"proxy-authenticate", "alt-svc"} & set(answer.headers)
