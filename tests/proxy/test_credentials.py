"""Who speaks: Proxy-Authorization, once a tunnel and once a plain request, and never longer than it is good."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from .client import AGENT, AUTH
from .harness import Proxy, eventually
from .http2 import Http2Wire, answer_http2
from .origins import Exchange, Origin
from .ws import handshake, websocket_origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]


STRANGE = "Proxy-Authorization: Bearer n\xe9body:\xff\r\n"


@pytest.mark.parametrize("auth", ["", "Proxy-Authorization: Basic bm9ib2R5Om5vdGhpbmc=\r\n", AUTH + AUTH, STRANGE])
@pytest.mark.parametrize("how", ["connect", "http"])
def test_407_without_a_good_credential(proxy: Make, auth: str, how: str) -> None:
    gate = proxy()
    with gate.wire() as wire:
        if how == "connect":
            answer = wire.connect("allowed.test:443", auth)
        else:
            wire.send(f"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n{auth}\r\n")
            answer = wire.reply()
        assert answer.status == 407
        assert answer.headers["proxy-authenticate"] == 'Basic realm="effectgate"'
        assert "credential" in answer.json()["reason"]
    assert (gate.boundary.submitted, gate.boundary.refused) == ([], [])


def test_only_the_failed_attempt_waits(proxy: Make) -> None:
    gate = proxy(failed_login_seconds=0.6)
    with gate.wire() as wire, gate.wire() as other:
        begun = time.monotonic()
        wire.send("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nProxy-Authorization: Basic eDp5\r\n\r\n")
        other.send(f"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n{AUTH}\r\n")
        assert other.reply().status == 403
        assert time.monotonic() - begun < 0.5
        assert wire.reply().status == 407
        assert 0.6 <= time.monotonic() - begun < 1.5


def test_a_client_may_try_again_on_the_same_connection(proxy: Make) -> None:
    with proxy().wire() as wire:
        assert wire.connect("allowed.test:443", "").status == 407
        assert wire.connect("allowed.test:443").status == 200


def test_a_plain_request_needs_its_own_credential(proxy: Make) -> None:
    with proxy().wire() as wire:
        for auth, status in ((AUTH, 403), ("", 407), (AUTH, 403)):
            wire.send(f"GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n{auth}\r\n")
            assert wire.reply().status == status


def test_no_credential_reaches_an_origin(proxy: Make, origin: MakeOrigin) -> None:
    tls, plain = origin(), origin(tls=False)
    gate = proxy({("allowed.test", 443): tls, ("allowed.test", 80): plain})
    more = f"{AUTH}Proxy-Connection: keep-alive\r\nX-Effectgate-Verdict: ALLOW\r\n"
    assert gate.get("allowed.test", more=more).status == 200
    assert gate.get("allowed.test", scheme="http", more=more.replace(AUTH, "")).status == 200
    for there in (tls, plain):
        assert b"proxy-" not in there.received.lower()
        assert b"effectgate" not in there.received.lower()
        assert there.received.startswith(b"GET / HTTP/1.1\r\n")


def test_a_credential_inside_the_tunnel_names_nobody(proxy: Make) -> None:
    gate = proxy()
    gate.tokens["Basic b3RoZXI6cw=="] = "other"
    gate.get("denied.test", more="Proxy-Authorization: Basic b3RoZXI6cw==\r\n")
    gate.boundary.allow = lambda facts: False
    assert gate.get("denied.test").json()["principal"] == "agent"


def test_a_revoked_credential_ends_a_kept_alive_tunnel(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin()}, recheck_seconds=60.0)
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        assert wire.reply().status == 200
        del gate.tokens[AGENT]
        wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        assert wire.reply().status == 407


def test_a_revoked_credential_ends_a_kept_alive_http2_tunnel(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin(answer_http2, alpn=("h2",))}, recheck_seconds=60.0)
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        assert client.get("allowed.test").status == 200
        del gate.tokens[AGENT]
        refused = client.get("allowed.test")
        assert (refused.status, refused.headers["proxy-authenticate"]) == (407, 'Basic realm="effectgate"')


def test_a_grant_that_is_gone_refuses_the_next_request_of_each_protocol(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin(answer_http2, alpn=("h2",))}, recheck_seconds=60.0)
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        client = Http2Wire(wire)
        assert client.get("allowed.test").status == 200
        gate.boundary.allow = lambda facts: False
        assert client.get("allowed.test").status == 403


def test_a_websocket_ends_within_a_second_of_its_credential(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 443): origin(websocket_origin)})
    with gate.tunnel("allowed.test:443") as wire:
        assert handshake(wire, "allowed.test").status == 101
        del gate.tokens[AGENT]
        assert wire.closed(1)
    assert gate.outcome().aborted


@pytest.mark.parametrize("credential", [AGENT, "Basic b3RoZXI6cw=="], ids=["its own", "another's"])
def test_a_credential_inside_an_http2_tunnel_is_stripped_and_names_nobody(
    proxy: Make, origin: MakeOrigin, credential: str
) -> None:
    there = origin(answer_http2, alpn=("h2",))
    gate = proxy({("allowed.test", 443): there})
    gate.tokens["Basic b3RoZXI6cw=="] = "other"
    with gate.tunnel("allowed.test:443", ("h2",)) as wire:
        more = [("proxy-authorization", credential), ("x-effectgate-verdict", "ALLOW")]
        client = Http2Wire(wire)
        assert client.get("allowed.test", more=more).status == 200
        assert json.loads(client.get("allowed.test", "/denied", more=more).body)["principal"] == "agent"
    assert b"proxy-" not in there.requests[0][0]
    assert b"effectgate" not in there.requests[0][0]


def _slowly(exchange: Exchange) -> None:
    exchange.head()
    exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        exchange.send(b"1\r\nx\r\n")
        time.sleep(0.02)


@pytest.mark.parametrize("how", ["credential", "grant"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_open_streams_end_within_a_second(proxy: Make, origin: MakeOrigin, how: str, scheme: str) -> None:
    there = origin(_slowly, tls=scheme == "https")
    gate = proxy({("allowed.test", 443 if scheme == "https" else 80): there})
    with gate.tunnel("allowed.test:443") if scheme == "https" else gate.wire() as wire:
        target, auth = ("/", "") if scheme == "https" else ("http://allowed.test/", AUTH)
        wire.send(f"GET {target} HTTP/1.1\r\nHost: allowed.test\r\n{auth}\r\n")
        assert wire.sock.recv(100)
        if how == "credential":
            del gate.tokens[AGENT]
        else:
            gate.boundary.gone.add("agent")
        assert wire.closed(1)
    assert gate.outcome().aborted


def test_a_stream_ends_with_its_own_credential_and_not_with_one_used_before(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.test", 80): origin(_slowly, tls=False)})
    gate.tokens["Basic b3RoZXI6cw=="] = "other"
    with gate.wire() as wire:
        assert wire.connect("allowed.test:22").status == 403
        other = "Proxy-Authorization: Basic b3RoZXI6cw==\r\n"
        wire.send(f"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n{other}\r\n")
        assert wire.sock.recv(100)
        del gate.tokens["Basic b3RoZXI6cw=="]
        assert wire.closed(1)


def test_an_idle_tunnel_of_a_good_caller_stays(proxy: Make) -> None:
    gate = proxy(recheck_seconds=0.05)
    with gate.tunnel("denied.test:443") as wire:
        assert not wire.closed(0.3)
        assert eventually(lambda: len(gate.engine.gate.sessions) == 1)
