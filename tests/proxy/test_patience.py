"""Origins that fall silent at each stage, and kept connections that close under a request: a reason in time; twice only what may be."""

from __future__ import annotations

import time
from collections.abc import Callable

import h2.config
import h2.connection
import h2.events
import pytest

from effectgate.boundary import Outcome

from .client import AUTH, Reply
from .harness import Proxy, eventually
from .http2 import Http2Wire, request
from .origins import Exchange, Origin
from .ws import frame, handshake, websocket_origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]

SILENT = 0.6
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
GET = "GET /%d HTTP/1.1\r\nHost: allowed.test\r\n\r\n"


def silent(exchange: Exchange) -> None:
    while exchange.read():
        pass


def half_a_head(exchange: Exchange) -> None:
    exchange.head()
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Le")
    silent(exchange)


def only_go_on(exchange: Exchange) -> None:
    exchange.head()
    exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    silent(exchange)


def first_alone(exchange: Exchange) -> None:
    exchange.head()
    exchange.send(OK)
    silent(exchange)


def half_a_body(exchange: Exchange) -> None:
    exchange.head()
    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
    silent(exchange)


def impatient(proxy: Make, there: Origin, port: int = 443) -> Proxy:
    return proxy({("allowed.test", port): there}, silent_seconds=SILENT, recheck_seconds=0.1)


def gave_up(answer: Reply, outcome: Outcome) -> None:
    assert (answer.status, answer.json()["failure"]) == (502, "timeout")
    assert (outcome.success, outcome.error, outcome.aborted) == (False, "timeout", False)


@pytest.mark.parametrize("script", [silent, half_a_head, only_go_on])
@pytest.mark.parametrize(
    "asked",
    [
        "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 4\r\n\r\nbody",
        "POST / HTTP/1.1\r\nHost: allowed.test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody",
    ],
)
def test_an_origin_that_does_not_answer(proxy: Make, origin: MakeOrigin, script: object, asked: str) -> None:
    gate = impatient(proxy, origin(script))
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(asked)
        answer = wire.reply()
        gave_up(wire.reply() if answer.status == 100 else answer, gate.outcome())


def test_an_origin_that_does_not_answer_in_the_clear(proxy: Make, origin: MakeOrigin) -> None:
    gate = impatient(proxy, origin(silent, tls=False), 80)
    with gate.wire() as wire:
        wire.send(f"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n{AUTH}\r\n")
        gave_up(wire.reply(), gate.outcome())


def test_an_origin_that_answers_no_more_on_reuse(proxy: Make, origin: MakeOrigin) -> None:
    gate = impatient(proxy, origin(first_alone))
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(GET % 1)
        assert wire.reply().status == 200
        wire.send(GET % 2)
        assert wire.reply().json()["failure"] == "timeout"


def test_an_origin_that_stops_in_the_middle(proxy: Make, origin: MakeOrigin) -> None:
    gate = impatient(proxy, origin(half_a_body))
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(GET % 1)
        with pytest.raises(EOFError):
            wire.reply()
    assert (gate.outcome().error, gate.outcome().bytes_received) == ("timeout", 4)


def test_an_origin_that_is_slow_is_waited_for(proxy: Make, origin: MakeOrigin) -> None:
    def drip(exchange: Exchange) -> None:
        exchange.head()
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n")
        for byte in b"slowly":
            time.sleep(SILENT / 3)
            exchange.send(bytes([byte]))
        silent(exchange)

    assert impatient(proxy, origin(drip)).get("allowed.test").body == b"slowly"


def test_a_websocket_may_be_silent(proxy: Make, origin: MakeOrigin) -> None:
    gate = impatient(proxy, origin(websocket_origin))
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        assert not wire.closed(2 * SILENT)
        wire.send(frame(b"still here", masked=True))
        assert wire.sock.recv(100)


def one_of_two(exchange: Exchange) -> None:
    """An HTTP/2 origin that answers `/good`, a byte now and then, and `/silent` never."""
    conn = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
    conn.initiate_connection()
    exchange.send(conn.data_to_send())
    good = 0
    while not good:
        for event in conn.receive_data(exchange.read()):
            if isinstance(event, h2.events.RequestReceived) and (":path", "/good") in (event.headers or []):
                good = event.stream_id
        exchange.send(conn.data_to_send())
    conn.send_headers(good, [(":status", "200")])
    for _ in range(6):
        time.sleep(SILENT / 3)
        conn.send_data(good, b".")
        exchange.send(conn.data_to_send())
    conn.end_stream(good)
    exchange.send(conn.data_to_send())
    silent(exchange)


def test_only_the_silent_stream_of_a_connection_ends(proxy: Make, origin: MakeOrigin) -> None:
    gate = impatient(proxy, origin(one_of_two, alpn=("h2",)))
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        lost, kept = client.open(request("allowed.test", "/silent")), client.open(request("allowed.test", "/good"))
        assert client.wait(lost).status == 502
        assert client.wait(kept).body == b"......"


# -- a kept connection that closes under a request


class Closing:
    """Answers the first request of its first connections, and closes them on the second; then it answers."""

    def __init__(self, connections: int, last_words: bytes = b"") -> None:
        self.heads: list[bytes] = []
        self._left = connections
        self._last_words = last_words

    def __call__(self, exchange: Exchange) -> None:
        closing = self._left > 0
        self._left -= 1
        while head := exchange.head():
            self.heads.append(head.split(b" HTTP")[0])
            if closing and len(self.heads) > 1:
                exchange.send(self._last_words)
                return
            exchange.send(OK)


def second(gate: Proxy, asked: str) -> Reply:
    """The answer to a second request on a kept connection."""
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(GET % 1)
        assert wire.reply().status == 200
        wire.send(asked)
        return wire.reply(to_head=asked.startswith("HEAD"))


def _last_outcome(gate: Proxy) -> Outcome:
    assert eventually(lambda: len(gate.boundary.completed) == 2)
    return gate.boundary.completed[1][1]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_what_changes_nothing_is_asked_once_more_and_the_receipt_says_so(
    proxy: Make, origin: MakeOrigin, method: str
) -> None:
    script = Closing(1)
    there = origin(script)
    gate = proxy({("allowed.test", 443): there})
    assert second(gate, f"{method} /2 HTTP/1.1\r\nHost: allowed.test\r\n\r\n").status == 200
    assert script.heads == [b"GET /1", f"{method} /2".encode(), f"{method} /2".encode()]
    assert there.accepts == 2
    assert len(gate.boundary.submitted) == 2
    outcome = _last_outcome(gate)
    assert (outcome.success, outcome.facts()["asked_again"]) == (True, True)


LENGTH_4 = "Content-Length: 4\r\n\r\nbody"


@pytest.mark.parametrize(
    "asked",
    [
        f"POST /2 HTTP/1.1\r\nHost: allowed.test\r\n{LENGTH_4}",
        "POST /2 HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 0\r\n\r\n",
        "DELETE /2 HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        f"PUT /2 HTTP/1.1\r\nHost: allowed.test\r\n{LENGTH_4}",
        f"GET /2 HTTP/1.1\r\nHost: allowed.test\r\n{LENGTH_4}",
    ],
)
def test_what_may_have_been_acted_upon_is_never_sent_twice(proxy: Make, origin: MakeOrigin, asked: str) -> None:
    script = Closing(1)
    there = origin(script)
    gate = proxy({("allowed.test", 443): there})
    answer = second(gate, asked)
    assert (answer.status, answer.json()["failure"]) == (502, "closed")
    assert (len(script.heads), there.accepts) == (2, 1)
    assert "asked_again" not in _last_outcome(gate).facts()


def test_it_is_asked_once_more_and_not_twice(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(Closing(2))
    answer = second(proxy({("allowed.test", 443): there}), GET % 2)
    assert (answer.status, answer.json()["failure"], there.accepts) == (502, "closed", 2)


def test_an_origin_that_had_begun_to_answer_is_not_asked_again(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(Closing(1, last_words=b"HTTP/1.1 200 OK\r\n"))
    answer = second(proxy({("allowed.test", 443): there}), GET % 2)
    assert (answer.status, there.accepts) == (502, 1)


def test_a_fresh_connection_that_closes_is_no_reason_to_ask_again(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(lambda exchange: exchange.head())
    gate = proxy({("allowed.test", 443): there})
    assert (gate.get("allowed.test").status, there.accepts) == (502, 1)


def test_a_kept_http2_connection_that_goes_away(proxy: Make, origin: MakeOrigin) -> None:
    served: list[str] = []

    def one_each(exchange: Exchange) -> None:
        conn = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        conn.initiate_connection()
        exchange.send(conn.data_to_send())
        while data := exchange.read():
            for event in conn.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    if len(served) == 1 and there.accepts == 1:
                        return
                    served.append(str(dict(event.headers or [])[":path"]))  # type: ignore[index]
                    conn.send_headers(event.stream_id, [(":status", "204")], end_stream=True)
            exchange.send(conn.data_to_send())

    there = origin(one_each, alpn=("h2",))
    with proxy({("allowed.test", 443): there}).tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        assert client.get("allowed.test", "/1").status == 204
        assert client.get("allowed.test", "/2").status == 204
    assert (served, there.accepts) == (["/1", "/2"], 2)


def test_the_second_connection_needs_leave_as_the_first_did(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(Closing(1))
    gate = proxy({("allowed.test", 443): there}, recheck_seconds=60)
    connect = gate.engine.gate.upstream.server_connect
    dialled: list[bool] = []

    def counted(data: object) -> None:
        connect(data)  # type: ignore[arg-type]
        dialled.append(True)

    gate.engine.gate.upstream.server_connect = counted  # type: ignore[method-assign]
    assert second(gate, GET % 2).status == 200
    assert dialled == [True, True]
