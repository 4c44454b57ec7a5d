"""Refusals arrive before the body has, inside TLS, readable, and nothing leaves for them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from .client import AUTH, Wire
from .harness import Proxy
from .http2 import Http2Wire, request
from .origins import Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]
MEGABYTES = 5 * 1024 * 1024


@pytest.fixture
def denied(proxy: Make, origin: MakeOrigin) -> tuple[Proxy, Origin]:
    """A proxy with an origin that nobody may reach."""
    there = origin(name="denied.test")
    plain = origin(tls=False)
    return proxy({("denied.test", 443): there, ("denied.test", 80): plain}), there


def assert_untouched(gate: Proxy, there: Origin) -> None:
    assert (there.accepts, there.received, gate.names.asked) == (0, b"", [])


@pytest.mark.parametrize("framing", ["Content-Length: 5242880", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("expect", ["", "Expect: 100-continue\r\n"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_http1_is_answered_before_its_body(
    denied: tuple[Proxy, Origin], framing: str, expect: str, scheme: str
) -> None:
    gate, there = denied
    with gate.tunnel("denied.test:443") if scheme == "https" else gate.wire() as wire:
        target = "/up" if scheme == "https" else "http://denied.test/up"
        auth = "" if scheme == "https" else AUTH
        begun = time.monotonic()
        wire.send(f"POST {target} HTTP/1.1\r\nHost: denied.test\r\n{auth}{expect}{framing}\r\n\r\n")
        answer = wire.reply()
        assert time.monotonic() - begun < 1
        assert (answer.status, answer.json()["verdict"], answer.headers["connection"]) == (403, "DENY", "close")
    assert_untouched(gate, there)


def test_a_client_that_sends_its_whole_body_first_still_reads_the_answer(denied: tuple[Proxy, Origin]) -> None:
    gate, there = denied
    with gate.tunnel("denied.test:443") as wire:
        wire.send(f"POST /up HTTP/1.1\r\nHost: denied.test\r\nContent-Length: {MEGABYTES}\r\n\r\n")
        wire.send(b"x" * MEGABYTES)
        assert wire.reply().status == 403
        assert wire.closed()
    assert_untouched(gate, there)


def test_a_stalled_body_does_not_hold_the_connection_for_ever(
    denied: tuple[Proxy, Origin], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("effectgate.proxy.answering.LINGER_SECONDS", 0.2)
    gate, _ = denied
    with gate.tunnel("denied.test:443") as wire:
        wire.send("POST /up HTTP/1.1\r\nHost: denied.test\r\nContent-Length: 9\r\n\r\nabc")
        assert wire.reply().status == 403
        assert wire.closed(1)


def test_http2_is_answered_before_its_body_and_reset_after(
    denied: tuple[Proxy, Origin], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("effectgate.proxy.answering.LINGER_SECONDS", 0.2)
    gate, there = denied
    with gate.tunnel("denied.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        stream = client.open(request("denied.test", "/up", "POST"), end=False)
        found = client.wait(stream)
        assert (found.status, found.ended, found.reset) == (403, True, None)
        assert b"INSUFFICIENT_PRIVILEGE" in found.body
        while found.reset is None:
            client.pump()
        assert client.get("denied.test").status == 403  # the connection lives on
    assert_untouched(gate, there)


def test_http2_reads_and_drops_a_large_refused_body(denied: tuple[Proxy, Origin]) -> None:
    gate, there = denied
    with gate.tunnel("denied.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        stream = client.open(request("denied.test", "/up", "POST", [("content-length", str(MEGABYTES))]), end=False)
        client.data(stream, b"x" * MEGABYTES, end=True)
        assert client.wait(stream).status == 403
        assert client.get("denied.test").status == 403
    assert_untouched(gate, there)


def test_a_kept_alive_connection_takes_the_next_request_after_a_refusal(denied: tuple[Proxy, Origin]) -> None:
    gate, _ = denied
    with gate.tunnel("denied.test:443") as wire:
        for _ in range(3):
            wire.send("GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n")
            assert wire.reply().status == 403
        wire.send("HEAD / HTTP/1.1\r\nHost: denied.test\r\n\r\n")
        assert wire.reply(to_head=True).status == 403
        wire.send("GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n")
        assert wire.reply().status == 403


def test_git_reads_text(denied: tuple[Proxy, Origin]) -> None:
    answer = denied[0].get("denied.test", "/o/r/info/refs?service=git-receive-pack", more="User-Agent: git/2.45.0\r\n")
    assert answer.headers["content-type"].startswith("text/plain")
    text = answer.body.decode()
    assert "effectgate: DENY INSUFFICIENT_PRIVILEGE" in text
    assert "would be admitted by: test/effect (Test, publish)" in text


@pytest.mark.parametrize("status", [0, 100])
def test_never_100_for_a_denied_request(denied: tuple[Proxy, Origin], status: int) -> None:
    gate, _ = denied
    gate.boundary.inspect = lambda facts: status
    with gate.tunnel("denied.test:443") as wire:
        wire.send("PUT /up HTTP/1.1\r\nHost: denied.test\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        first = wire.reply()
        if status:  # what decides is in the body, so it has to be asked for
            assert first.status == 100
            wire.send("abc")
            first = wire.reply()
        assert first.status == 403


def test_100_for_an_allowed_request(proxy: Make, origin: MakeOrigin) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("PUT /up HTTP/1.1\r\nHost: allowed.test\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        assert wire.reply().status == 100
        wire.send("abc")
        assert wire.reply().status == 200
    assert there.requests[0][1] == b"abc"
    assert b"expect" not in there.requests[0][0].lower()


@pytest.mark.parametrize("held", [False, True])
def test_no_100_for_http_1_0(proxy: Make, origin: MakeOrigin, held: bool) -> None:
    """RFC 9110 section 10.1.1."""
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.inspect = lambda facts: 100 if held else 0
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("PUT /up HTTP/1.0\r\nHost: allowed.test\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc")
        assert wire.reply().status == 200
    assert there.requests[0][1] == b"abc"
    assert b"expect" not in there.requests[0][0].lower()


def test_the_proxy_says_how_it_is_used(denied: tuple[Proxy, Origin]) -> None:
    gate, there = denied
    with gate.wire() as wire:
        wire.send("GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n")
        answer = wire.reply()
        assert (answer.status, "HTTPS_PROXY" in answer.json()["reason"]) == (400, True)
        wire.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert wire.reply().json() == {"status": "ok"}
        wire.send("OPTIONS * HTTP/1.1\r\nHost: denied.test\r\n\r\n")
        assert wire.reply().status == 400
        wire.send(f"GET http://mitm.it/ HTTP/1.1\r\nHost: mitm.it\r\n{AUTH}\r\n")
        assert wire.reply().status == 403
    assert_untouched(gate, there)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_effectgate_internal_is_answered_by_the_proxy(proxy: Make, scheme: str) -> None:
    gate = proxy()
    assert gate.get("effectgate.internal", "/v1/grant", scheme=scheme).body == b"agent GET /v1/grant 0"
    with gate.wire() as wire:
        for _ in range(2):
            wire.send(
                f"POST http://effectgate.internal/v1/escalate HTTP/1.1\r\nHost: effectgate.internal\r\n{AUTH}"
                "Content-Length: 4\r\n\r\n{}{}"
            )
            assert wire.reply().body == b"agent POST /v1/escalate 4"
    assert gate.boundary.submitted == []


def connect_refused(wire: Wire, target: str) -> tuple[int, str, str]:
    answer = wire.connect(target)
    return answer.status, answer.reason, answer.json()["reason_code"]


@pytest.mark.parametrize("target", ["denied.test:22", "denied.test:25", "denied.test:53", "denied.test:5432"])
def test_a_connect_that_leads_nowhere_says_so_in_its_reason_phrase(denied: tuple[Proxy, Origin], target: str) -> None:
    gate, there = denied
    with gate.wire() as wire:
        assert connect_refused(wire, target) == (403, "SANDBOX_VIOLATION", "SANDBOX_VIOLATION")
    assert gate.boundary.refused[-1][0] == "agent"
    assert_untouched(gate, there)


@pytest.mark.parametrize(
    "target",
    ["10.0.0.1:443", "127.0.0.1:443", "169.254.169.254:80", "[::1]:443", "[::ffff:10.0.0.1]:443", "100.64.0.1:443"],
)
def test_an_address_is_refused_inside_its_tunnel_as_without_one(denied: tuple[Proxy, Origin], target: str) -> None:
    """Recognition comes before the address (design.md section 4), so that every transport gives the same reason."""
    gate, there = denied
    with gate.wire() as wire:
        assert wire.connect(target).status == 200
        wire.send(f"GET / HTTP/1.1\r\nHost: {target}\r\n\r\n")
        assert wire.reply().status == 403
    assert_untouched(gate, there)


@pytest.mark.parametrize(
    "target",
    ["127.1:443", "2130706433:443", "0x7f.1:443", "a..b:443", "a.test..:443", "[a.test]:443", "u@a.test:443",
     "a%00.test:443", "a.test\\b:443", "017700000001:443"],
)  # fmt: skip
def test_an_ambiguous_connect_is_400(denied: tuple[Proxy, Origin], target: str) -> None:
    gate, there = denied
    with gate.wire() as wire:
        wire.send(f"CONNECT {target} HTTP/1.1\r\n{AUTH}\r\n")
        answer = wire.reply()
        assert (answer.status, answer.json()["reason_code"]) == (400, "ENVELOPE_INVALID")
    assert_untouched(gate, there)


@pytest.mark.parametrize("length", [5, None])
def test_an_upload_stops_where_its_limit_does(proxy: Make, origin: MakeOrigin, length: int | None) -> None:
    there = origin(name="allowed.test")
    gate = proxy({("allowed.test", 443): there})
    gate.boundary.upload_left = 5
    framing = f"Content-Length: {length}" if length else "Transfer-Encoding: chunked"
    body = "12345" if length else "5\r\n12345\r\n1\r\n6\r\n0\r\n\r\n"
    with gate.tunnel("allowed.test:443") as wire:
        wire.send(f"POST /up HTTP/1.1\r\nHost: allowed.test\r\n{framing}\r\n\r\n{body}")
        answer = wire.reply()
    if length:
        assert answer.status == 200
    else:
        assert (answer.status, answer.json()["reason_code"]) == (403, "BUDGET_EXCEEDED")
        assert b"6" not in there.received.partition(b"\r\n\r\n")[2].replace(b"12345", b"")
