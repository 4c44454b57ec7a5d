"""Requests that two parsers could read in two ways: 400, and nothing is resolved or dialled."""

from __future__ import annotations

import contextlib
import itertools
import ssl
import time
from collections.abc import Callable

import pytest

from .client import AUTH
from .harness import Proxy
from .http2 import Headers, Http2Wire, request
from .origins import Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]

# Every row is sent inside a tunnel to allowed.test:443, where the boundary would allow it. {H} is a good Host line.
H = b"Host: allowed.test\r\n"
HEADS: dict[str, bytes] = {
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\n" + H + b"Host: evil.test\r\n\r\n",
    "two equal hosts": b"GET / HTTP/1.1\r\n" + H + H + b"\r\n",
    "another host": b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "another port": b"GET / HTTP/1.1\r\nHost: allowed.test:444\r\n\r\n",
    "host with user": b"GET / HTTP/1.1\r\nHost: x@allowed.test\r\n\r\n",
    "host list": b"GET / HTTP/1.1\r\nHost: allowed.test, evil.test\r\n\r\n",
    "absolute form of another": b"GET https://evil.test/x HTTP/1.1\r\n" + H + b"\r\n",
    "absolute form of another scheme": b"GET http://allowed.test:443/x HTTP/1.1\r\n" + H + b"\r\n",
    "absolute form of another, host agrees with it": b"GET https://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "length and coding": b"POST / HTTP/1.1\r\n" + H + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\n" + H + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
    "signed length": b"POST / HTTP/1.1\r\n" + H + b"Content-Length: +3\r\n\r\nabc",
    "length list": b"POST / HTTP/1.1\r\n" + H + b"Content-Length: 3, 3\r\n\r\nabc",
    "two codings": b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "odd coding": b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "gzip, chunked": b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "coding in 1.0": b"POST / HTTP/1.0\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "space before colon": b"GET / HTTP/1.1\r\n" + H + b"X-A : b\r\n\r\n",
    "coding with a space before colon": b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding : chunked\r\nContent-Length: 3\r\n\r\nabc",
    "folded line": b"GET / HTTP/1.1\r\n" + H + b"X-A: b\r\n c\r\n\r\n",
    "folded length": b"POST / HTTP/1.1\r\n" + H + b"Content-Length:\r\n 3\r\n\r\nabc",
    "bare LF": b"GET / HTTP/1.1\n" + H + b"\r\n",
    "bare LF in a header": b"GET / HTTP/1.1\r\n" + H + b"X-A: b\nX-B: c\r\n\r\n",
    "bare LF at the end": b"GET / HTTP/1.1\r\n" + H + b"\n\r\n",
    "bare CR": b"GET / HTTP/1.1\r\n" + H + b"X-A: b\rX-B: c\r\n\r\n",
    "NUL in a value": b"GET / HTTP/1.1\r\n" + H + b"X-A: b\0c\r\n\r\n",
    "NUL in the path": b"GET /a\0b HTTP/1.1\r\n" + H + b"\r\n",
    "control in a value": b"GET / HTTP/1.1\r\n" + H + b"X-A: b\x01\r\n\r\n",
    "header without colon": b"GET / HTTP/1.1\r\n" + H + b"nonsense\r\n\r\n",
    "empty header name": b"GET / HTTP/1.1\r\n" + H + b": x\r\n\r\n",
    "bytes outside ASCII in the path": b"GET /\xc3\xa4 HTTP/1.1\r\n" + H + b"\r\n",
    "space in the path": b"GET /a b HTTP/1.1\r\n" + H + b"\r\n",
    "dot segment": b"GET /a/../b HTTP/1.1\r\n" + H + b"\r\n",
    "encoded dot segment": b"GET /a/%2e%2e/b HTTP/1.1\r\n" + H + b"\r\n",
    "encoded NUL": b"GET /a%00 HTTP/1.1\r\n" + H + b"\r\n",
    "backslash": b"GET /a\\b HTTP/1.1\r\n" + H + b"\r\n",
    "fragment": b"GET /a#b HTTP/1.1\r\n" + H + b"\r\n",
    "bad escape": b"GET /a%zz HTTP/1.1\r\n" + H + b"\r\n",
    "lower-case method": b"get / HTTP/1.1\r\n" + H + b"\r\n",
    "mixed-case method": b"gEt / HTTP/1.1\r\n" + H + b"\r\n",
    "TRACE": b"TRACE / HTTP/1.1\r\n" + H + b"\r\n",
    "CONNECT in the tunnel": b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
    "version 3.7": b"GET / HTTP/3.7\r\n" + H + b"\r\n",
    "version 0.9": b"GET /\r\n\r\n",
    "version 2.0": b"GET / HTTP/2.0\r\n" + H + b"\r\n",
    "asterisk": b"OPTIONS * HTTP/1.1\r\n" + H + b"\r\n",
    "h2c": b"GET / HTTP/1.1\r\n" + H + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    "H2C": b"GET / HTTP/1.1\r\n" + H + b"Connection: Upgrade\r\nUpgrade: H2C\r\n\r\n",
    "TLS upgrade": b"GET / HTTP/1.1\r\n" + H + b"Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n\r\n",
    "two upgrades": b"GET / HTTP/1.1\r\n" + H + b"Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
    "websocket with a body": b"GET / HTTP/1.1\r\n" + H + b"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc",
    "method override": b"POST / HTTP/1.1\r\n" + H + b"X-HTTP-Method-Override: DELETE\r\nContent-Length: 0\r\n\r\n",
    "path override": b"GET / HTTP/1.1\r\n" + H + b"X-Original-URL: /admin\r\n\r\n",
    "prior-knowledge h2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}  # fmt: skip


@pytest.fixture
def reachable(proxy: Make, origin: MakeOrigin) -> tuple[Proxy, Origin]:
    """A proxy whose boundary allows everything, with one origin for every name."""
    there = origin()
    gate = proxy({("allowed.test", 443): there, ("evil.test", 443): there, ("allowed.test", 80): origin(tls=False)})
    gate.boundary.allow = lambda facts: True
    return gate, there


def assert_refused(gate: Proxy, there: Origin) -> None:
    assert gate.boundary.submitted == []
    assert (there.accepts, there.received, gate.names.asked) == (0, b"", [])


@pytest.mark.parametrize("row", HEADS)
def test_http1_heads(reachable: tuple[Proxy, Origin], row: str) -> None:
    gate, there = reachable
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(HEADS[row])
        answer = wire.reply()
        assert answer.status == 400
        assert answer.json()["reason_code"] == "ENVELOPE_INVALID"
        assert answer.json()["reason"].endswith(".")
        assert "mitmproxy" not in answer.body.decode()
    (principal, _, _, reason) = gate.boundary.refused[-1]
    assert (principal, bool(reason)) == ("agent", True)
    assert_refused(gate, there)


def test_the_rows_are_refused_for_their_fault_alone(reachable: tuple[Proxy, Origin]) -> None:
    gate, there = reachable
    with gate.tunnel("allowed.test:443") as wire:
        for head in (
            b"GET / HTTP/1.1\r\n" + H + b"\r\n",
            b"GET https://allowed.test/x HTTP/1.1\r\n" + H + b"\r\n",
            b"\r\nGET / HTTP/1.1\r\nHost: ALLOWED.test.:443\r\nX-A: b\tc\r\n\r\n",
            b"POST / HTTP/1.1\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n",
        ):
            wire.send(head)
            assert wire.reply().status == 200
    assert there.requests[1][0].startswith(b"GET /x HTTP/1.1\r\n")
    assert b"trailer" not in there.received.lower()


# Mutations of the usual pseudo-headers.
HTTP2: dict[str, Headers] = {
    "another authority": request("evil.test"),
    "authority and host disagree": request("allowed.test", more=[("host", "evil.test")]),
    "host only, another": [(":method", "GET"), (":scheme", "https"), (":path", "/"), ("host", "evil.test")],
    "no authority, no host": [(":method", "GET"), (":scheme", "https"), (":path", "/")],
    "two authorities": [*request("allowed.test"), (":authority", "evil.test")],
    "authority with user": request("x@allowed.test"),
    "another scheme": [(":method", "GET"), (":scheme", "http"), (":authority", "allowed.test:443"), (":path", "/")],
    "space in the path": request("allowed.test", "/a HTTP/1.1\r\nX: y"),
    "plain space in the path": request("allowed.test", "/a b"),
    "line end in a value": request("allowed.test", more=[("x-a", "b\r\nHost: evil.test")]),
    "line end in the method": request("allowed.test", method="GET / HTTP/1.1\r\nX:"),
    "upper-case name": request("allowed.test", more=[("X-A", "b")]),
    "connection header": request("allowed.test", more=[("connection", "close")]),
    "transfer-encoding": request("allowed.test", more=[("transfer-encoding", "chunked")]),
    "upgrade": request("allowed.test", more=[("upgrade", "websocket")]),
    "two lengths": request("allowed.test", more=[("content-length", "0"), ("content-length", "5")]),
    "dot segment": request("allowed.test", "/a/../b"),
    "absolute path": request("allowed.test", "https://evil.test/"),
    "lower-case method": request("allowed.test", method="get"),
    "TRACE": request("allowed.test", method="TRACE"),
    "CONNECT": [(":method", "CONNECT"), (":authority", "evil.test:443")],
    "extended CONNECT": [*request("allowed.test", method="CONNECT"), (":protocol", "websocket")],
    "method override": request("allowed.test", method="POST", more=[("x-http-method-override", "DELETE")]),
}  # fmt: skip


@pytest.mark.parametrize("row", HTTP2)
def test_http2_heads(reachable: tuple[Proxy, Origin], row: str) -> None:
    """A head that h2 itself cannot read ends the connection; any other is answered."""
    gate, there = reachable
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        stream = client.open(HTTP2[row])
        try:
            found = client.wait(stream)
            assert found.status == 400 or (found.status == 0 and found.reset is not None)
        except (EOFError, ConnectionError):
            pass  # closed without an answer
    assert_refused(gate, there)


NAMES = ("allowed.test", "evil.test")


@pytest.mark.parametrize(("connect", "sni", "host"), list(itertools.product(NAMES, NAMES, NAMES)))
@pytest.mark.parametrize("version", ["http/1.1", "h2"])
def test_connect_sni_and_host_agree_or_nothing_happens(
    reachable: tuple[Proxy, Origin], connect: str, sni: str, host: str, version: str
) -> None:
    gate, there = reachable
    with gate.wire() as wire:
        assert wire.connect(f"{connect}:443").status == 200
        wire.tls(gate.ca, sni, (version,))
        if version == "h2":
            status = Http2Wire(wire).get(host).status
        else:
            wire.send(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")
            status = wire.reply().status
    if connect == sni == host:
        assert status == (200 if connect == "allowed.test" else 502)  # the origin's certificate is for allowed.test
    else:
        assert status == 400
        assert_refused(gate, there)


def test_tls_without_sni_needs_an_ip_literal(reachable: tuple[Proxy, Origin]) -> None:
    gate, there = reachable
    for target, status in (("allowed.test:443", 400), ("93.184.216.34:443", 403)):
        gate.boundary.allow = lambda facts: False
        with gate.wire() as wire:
            wire.connect(target)
            wire.tls(gate.ca, None)
            wire.send(f"GET / HTTP/1.1\r\nHost: {target.split(':')[0]}\r\n\r\n")
            assert wire.reply().status == status
    assert (there.accepts, gate.names.asked) == (0, [])


@pytest.mark.parametrize(
    "line",
    ["GET http://evil.test@allowed.test/", "GET http://allowed.test\\@evil.test/", "GET http://allowed.test:80:80/",
     "GET ftp://allowed.test/", "GET http:///x", "GET http://[allowed.test]/", "GET http://allowed.test%00/",
     "GET http://allowed.test..:80/", "GET http://127.1/", "GET http://allowed.test#x/"],
)  # fmt: skip
def test_absolute_form(reachable: tuple[Proxy, Origin], line: str) -> None:
    gate, there = reachable
    with gate.wire() as wire:
        wire.send(f"{line} HTTP/1.1\r\nHost: allowed.test\r\n{AUTH}\r\n")
        assert wire.reply().status == 400
    assert_refused(gate, there)


def test_absolute_form_with_another_host(reachable: tuple[Proxy, Origin]) -> None:
    gate, there = reachable
    with gate.wire() as wire:
        wire.send(f"GET http://allowed.test/ HTTP/1.1\r\nHost: evil.test\r\n{AUTH}\r\n")
        assert wire.reply().status == 400
        wire.send(f"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n{AUTH}\r\n")
        assert wire.reply().status == 200
    assert len(gate.boundary.submitted) == 1
    assert there.accepts == 0


def test_connect_with_another_host_header(proxy: Make) -> None:
    gate = proxy()
    with gate.wire() as wire:
        assert wire.connect("allowed.test:443", host="evil.test:443").status == 400


@pytest.mark.parametrize("version", ["http/1.1", "h2"])
def test_a_large_head_is_431(reachable: tuple[Proxy, Origin], version: str) -> None:
    gate, there = reachable
    filler = "x" * 70_000
    with gate.tunnel("allowed.test:443", (version,)) as wire:
        if version == "h2":
            client = Http2Wire(wire)
            assert client.get("allowed.test", more=[("x-filler", filler)]).status == 431
            assert client.get("allowed.test", "/" + "a" * 60_000, more=[("x-filler", "x" * 9000)]).status == 431
        else:
            wire.send(f"GET / HTTP/1.1\r\nHost: allowed.test\r\nX-Filler: {filler}\r\n\r\n")
            answer = wire.reply()
            assert (answer.status, answer.json()["reason_code"]) == (431, "TEMPORAL_THROTTLE")
    assert_refused(gate, there)


def test_a_head_without_end_is_431(reachable: tuple[Proxy, Origin]) -> None:
    gate, there = reachable
    with gate.wire() as wire:
        wire.send("GET http://allowed.test/ HTTP/1.1\r\nX-Filler: " + "x" * 70_000)
        assert wire.reply().status == 431
    assert_refused(gate, there)


@pytest.mark.parametrize(
    "first",
    [b"SSH-2.0-OpenSSH_9.6\r\n", b"\x00\x01\x02\x03binary", b"EHLO me\r\n", b"\x16\x03", b"GET / HTT", b"",
     b"USER anonymous\r\n", b"\x16\xfe\xfd\x00\x00", b"*1\r\n$4\r\nPING\r\n"],
)  # fmt: skip
def test_a_tunnel_that_speaks_neither_tls_nor_http_is_closed(reachable: tuple[Proxy, Origin], first: bytes) -> None:
    gate, there = reachable
    with gate.wire() as wire:
        assert wire.connect("allowed.test:443").status == 200
        if first:
            wire.send(first)
        undecided = first in (b"", b"\x16\x03", b"GET / HTT")
        assert wire.closed(2 if undecided else 1)
    assert_refused(gate, there)


@pytest.mark.parametrize("cut", [1, 2, 3, 5, 14, 40])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_first_bytes_may_come_in_pieces(proxy: Make, cut: int, scheme: str) -> None:
    gate = proxy()
    with gate.wire() as wire:
        assert wire.connect("denied.test:443").status == 200
        sent = b"GET / HTTP/1.1\r\nHost: denied.test:443\r\nX-Filler: x\r\n\r\n"
        if scheme == "https":
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            context = ssl.create_default_context(cafile=str(gate.ca))
            with contextlib.suppress(ssl.SSLWantReadError):
                context.wrap_bio(incoming, outgoing, server_hostname="denied.test").do_handshake()
            sent = outgoing.read()
        wire.send(sent[:cut])
        time.sleep(0.05)
        wire.send(sent[cut:])
        if scheme == "https":
            assert wire.sock.recv(1) == b"\x16"  # a handshake record: ServerHello
        else:
            assert wire.reply().status == 403


def test_a_client_handshake_that_never_ends_is_cut(proxy: Make) -> None:
    gate = proxy(hello_seconds=0.2)
    with gate.wire() as wire:
        assert wire.connect("allowed.test:443").status == 200
        wire.send(b"\x16\x03\x01\x02\x00\x01\x00")
        assert wire.closed(1.5)


def test_other_protocols_inside_tls_are_closed_too(reachable: tuple[Proxy, Origin]) -> None:
    gate, there = reachable
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(b"EHLO me\r\n\r\n")
        assert wire.reply().status == 400
        assert wire.closed()
    assert_refused(gate, there)
