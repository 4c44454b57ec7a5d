"""One table of decisions, the same answer over every protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from .client import AUTH
from .harness import Proxy
from .http2 import Http2Wire, answer_http2
from .origins import Origin, answer_ok
from .ws import handshake, websocket_origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]


@dataclass(frozen=True)
class Row:
    """A method, a host, a path, and what must come of it."""

    method: str
    host: str
    path: str
    status: int


TABLE = (
    Row("GET", "allowed.test", "/x", 200),
    Row("POST", "allowed.test", "/x", 200),
    Row("GET", "allowed.test", "/x%2Fy?a=b&a=c", 200),
    Row("GET", "ALLOWED.test.", "/x", 200),
    Row("GET", "allowed.test", "/denied/x", 403),
    Row("GET", "denied.test", "/x", 403),
    Row("GET", "notallowed.test", "/x", 403),
    Row("GET", "allowed.test", "/a/../b", 400),
    Row("GET", "allowed.test", "/a//b", 200),
    Row("TRACE", "allowed.test", "/x", 400),
)


def by_http(gate: Proxy, row: Row) -> int:
    with gate.wire() as wire:
        wire.send(f"{row.method} http://{row.host}{row.path} HTTP/1.1\r\nHost: {row.host}\r\n{AUTH}\r\n")
        return wire.reply().status


def by_http_in_a_tunnel(gate: Proxy, row: Row) -> int:
    with gate.wire() as wire:
        assert wire.connect(f"{row.host}:80").status == 200
        wire.send(f"{row.method} {row.path} HTTP/1.1\r\nHost: {row.host}\r\n\r\n")
        return wire.reply().status


def by_https(gate: Proxy, row: Row) -> int:
    with gate.tunnel(f"{row.host}:443") as wire:
        wire.send(f"{row.method} {row.path} HTTP/1.1\r\nHost: {row.host}\r\n\r\n")
        return wire.reply().status


def by_http2(gate: Proxy, row: Row) -> int:
    with gate.tunnel(f"{row.host}:443", ("h2",)) as wire:
        return Http2Wire(wire).get(row.host, row.path, row.method).status


def by_absolute_https(gate: Proxy, row: Row) -> int:
    with gate.wire() as wire:
        wire.send(f"{row.method} https://{row.host}{row.path} HTTP/1.1\r\nHost: {row.host}\r\n{AUTH}\r\n")
        return wire.reply().status


HOW = (by_http, by_http_in_a_tunnel, by_https, by_http2, by_absolute_https)


@pytest.mark.parametrize("how", HOW, ids=lambda how: how.__name__)
def test_the_table(proxy: Make, origin: MakeOrigin, how: Callable[[Proxy, Row], int]) -> None:
    tls, plain = origin(), origin(tls=False)
    gate = proxy({("allowed.test", 443): tls, ("allowed.test", 80): plain})
    assert [how(gate, row) for row in TABLE] == [row.status for row in TABLE]
    seen = [(facts.method, facts.host, facts.path, facts.query) for facts in gate.boundary.submitted]
    assert seen == [
        (row.method, row.host.lower().rstrip("."), row.path.partition("?")[0], row.path.partition("?")[2] or None)
        for row in TABLE
        if row.status != 400
    ]
    paths = [head.split(b" ")[1].decode() for head, _ in (*tls.requests, *plain.requests)]
    assert paths == [row.path for row in TABLE if row.status == 200]
    assert gate.names.asked == []


@pytest.mark.parametrize("row", [row for row in TABLE if row.method == "GET"], ids=lambda row: f"{row.host}{row.path}")
def test_the_table_by_websocket(proxy: Make, origin: MakeOrigin, row: Row) -> None:
    there = origin(websocket_origin)
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel(f"{row.host}:443") as wire:
        assert handshake(wire, row.host, row.path).status == (101 if row.status == 200 else row.status)
    assert there.accepts == (row.status == 200)


@pytest.mark.parametrize(
    ("alpn", "offered"), [(("h2",), "h2"), (("h2", "http/1.1"), "h2"), (("http/1.1",), "http/1.1")]
)
def test_the_origin_is_offered_what_the_client_speaks(
    proxy: Make, origin: MakeOrigin, alpn: tuple[str, ...], offered: str
) -> None:
    there = origin(answer_http2 if offered == "h2" else answer_ok, alpn=("h2", "http/1.1"))
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443", alpn) as wire:
        if offered == "h2":
            assert Http2Wire(wire).get("allowed.test").body == b"hello2"
        else:
            wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
            assert wire.reply().body == b"hello"
