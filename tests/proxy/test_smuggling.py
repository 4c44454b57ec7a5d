"""What an origin receives is what was decided: one request, framed, whatever protocol it came in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from .harness import Proxy
from .http2 import Http2Wire, answer_http2, request
from .origins import Exchange, Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]
SMUGGLED = b"GET /denied HTTP/1.1\r\nHost: allowed.test\r\n\r\n"


@pytest.mark.parametrize("inspect", [0, 10_000])
@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
def test_an_http2_body_without_a_length_is_one_body(proxy: Make, origin: MakeOrigin, alpn: str, inspect: int) -> None:
    there = origin(answer_http2, alpn=("h2",)) if alpn == "h2" else origin()
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.inspect = lambda facts: inspect
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        for method in ("POST", "GET"):
            stream = client.open(request("allowed.test", "/up", method), end=False)
            client.data(stream, SMUGGLED[:20])
            client.data(stream, SMUGGLED[20:], end=True)
            found = client.wait(stream)
            assert (found.status, found.headers["x-origin"]) == (200, "yes")
    assert [body for _, body in there.requests] == [SMUGGLED, SMUGGLED]
    assert len(gate.boundary.submitted) == 2
    heads = b"".join(head for head, _ in there.requests).lower()
    assert heads.count(b"transfer-encoding: chunked") == (0 if alpn == "h2" else 2)


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
def test_an_http2_body_with_a_length_keeps_it(proxy: Make, origin: MakeOrigin, alpn: str) -> None:
    there = origin(answer_http2, alpn=("h2",)) if alpn == "h2" else origin()
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        stream = client.open(
            request("allowed.test", "/up", "POST", [("content-length", str(len(SMUGGLED)))]), end=False
        )
        client.data(stream, SMUGGLED, end=True)
        assert client.wait(stream).status == 200
    assert there.requests[0][1] == SMUGGLED


def test_an_http2_body_that_is_not_as_long_as_it_says(proxy: Make, origin: MakeOrigin) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        stream = client.open(request("allowed.test", "/up", "POST", [("content-length", "3")]), end=False)
        client.data(stream, SMUGGLED, end=True)
        with pytest.raises((EOFError, OSError)):
            client.wait(stream)
    assert b"/denied" not in there.received


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_http2_head_that_ends_the_request_promises_no_body(proxy: Make, origin: MakeOrigin, method: str) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        answer = client.get("allowed.test", "/up", method, [("content-length", "44")])
        assert answer.status == 400
        assert client.get("allowed.test", "/up", method, [("content-length", "0")]).status == 200
    assert [head.split(b"\r\n")[0] for head, _ in there.requests] == [f"{method} /up HTTP/1.1".encode()]
    assert [code for _, _, code, _ in gate.boundary.refused] == ["ENVELOPE_INVALID"]


def test_http2_trailers_go_nowhere(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(answer_http2, alpn=("h2",))
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        stream = client.open(request("allowed.test", "/up", "POST"), end=False)
        client.data(stream, b"abc")
        client.conn.send_headers(stream, [("x-http-method-override", "DELETE")], end_stream=True)
        client.flush()
        assert client.wait(stream).status == 200
    assert there.requests[0][1] == b"abc"
    assert b"override" not in there.requests[0][0]


@pytest.mark.parametrize("inspect", [0, 10_000])
def test_an_http2_body_that_trailers_cut_short_is_refused(proxy: Make, origin: MakeOrigin, inspect: int) -> None:
    """h2 counts DATA only; the origin's connection must not stay open for what is missing."""
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.inspect = lambda facts: inspect
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        stream = client.open(request("allowed.test", "/up", "POST", [("content-length", "150")]), end=False)
        client.data(stream, b"abc")
        client.conn.send_headers(stream, [("x-trailer", "1")], end_stream=True)
        client.flush()
        assert client.wait(stream).status == 400
        assert client.get("allowed.test", "/next").status == 200
    assert there.accepts == 2


@pytest.mark.parametrize("inspect", [0, 10_000, 10])
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_an_http1_body_passes_unchanged_and_is_hashed(
    proxy: Make, origin: MakeOrigin, framing: str, inspect: int
) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.inspect = lambda facts: inspect
    body = b"field=value&" * 40
    with gate.tunnel("allowed.test:443") as wire:
        if framing == "length":
            wire.send(f"POST /up HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        else:
            wire.send("POST /up HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n")
            wire.send(b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (7, body[:7], len(body) - 7, body[7:]))
        assert wire.reply().status == 200
        wire.send("GET /next HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        assert wire.reply().status == 200
    assert there.requests[0][1] == body
    held = inspect >= len(body)
    assert gate.boundary.submitted[0].body.content == (body if held else None)
    assert gate.boundary.submitted[0].body.present
    outcome = gate.boundary.completed[0][1]
    assert (outcome.bytes_sent, outcome.request_sha256) == (len(body), hashlib.sha256(body).hexdigest())
    assert outcome.response_sha256 == hashlib.sha256(b"hello").hexdigest()


def test_a_held_body_may_decide(proxy: Make, origin: MakeOrigin) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.inspect = lambda facts: 100
    gate.boundary.allow = lambda facts: facts.body.content == b"good"
    with gate.tunnel("allowed.test:443") as wire:
        for body, status in (("evil", 403), ("good", 200), ("evil", 403)):
            wire.send(f"POST /up HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 4\r\n\r\n{body}")
            assert wire.reply().status == status
    assert [body for _, body in there.requests] == [b"good"]


def test_a_body_past_what_may_be_held_is_decided_without_it(proxy: Make, origin: MakeOrigin) -> None:
    """And at once: this one has no end."""
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.inspect = lambda facts: 100
    gate.boundary.allow = lambda facts: facts.body.content is not None
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(
            "POST /up HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n" + "x" * 128 + "\r\n"
        )
        assert wire.reply().status == 403
    assert (gate.boundary.submitted[0].body.present, there.received) == (True, b"")


def test_pipelined_requests_are_decided_one_by_one(proxy: Make, origin: MakeOrigin) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(
            "GET /1 HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
            + SMUGGLED.decode()
            + "GET /2 HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
        )
        assert [wire.reply().status for _ in range(3)] == [200, 403, 200]
    assert b"/denied" not in there.received
    assert there.accepts == 1


def test_a_nominated_header_is_not_dropped_by_the_origin(proxy: Make, origin: MakeOrigin) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    assert gate.get("allowed.test", more="Connection: keep-alive, X-Scope\r\nX-Scope: narrow\r\n").status == 200
    head = there.requests[0][0]
    assert b"Connection: keep-alive\r\n" in head
    assert b"X-Scope: narrow" in head


def test_ten_requests_are_one_upstream_connection(proxy: Make, origin: MakeOrigin) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443") as wire:
        for _ in range(10):
            wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
            assert wire.reply().status == 200
    assert there.accepts == 1


def test_an_early_answer_is_passed_on_while_the_body_still_comes(proxy: Make, origin: MakeOrigin) -> None:
    def early(exchange: Exchange) -> None:
        exchange.head()
        assert exchange.read() == b"x"  # unread, it would make the kernel reset the connection
        exchange.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    gate = proxy({("allowed.test", 443): origin(early)})
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("POST / HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 100000\r\n\r\nx")
        assert wire.reply().status == 413
    assert gate.outcome().status == 413
