"""Tunnels: what ends without an answer leaves a receipt, and what TLS clients honestly do is served."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable

import pytest
from OpenSSL import SSL

from hostile.hello import client_hello

from .client import AUTH, Wire
from .harness import Proxy, eventually
from .http2 import Http2Wire
from .origins import Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]
HOST = "allowed.test"
ECH = "fe0d 006a 00 0001 0001 42 0020 " + "61" * 32 + "0040" + "62" * 64
GET = f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n"


@pytest.fixture
def gate(proxy: Make, origin: MakeOrigin) -> Proxy:
    return proxy({(HOST, 443): origin()}, hello_seconds=1.0)


def opened(gate: Proxy) -> Wire:
    """A tunnel that has said nothing yet."""
    wire = gate.wire()
    assert wire.connect(f"{HOST}:443").status == 200
    return wire


def context(gate: Proxy, version: ssl.TLSVersion | None = None, alpn: tuple[str, ...] = ()) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(gate.ca))
    if version is not None:
        made.minimum_version = made.maximum_version = version
    if alpn:
        made.set_alpn_protocols(list(alpn))
    return made


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (b"SSH-2.0-x\r\n", "neither TLS nor HTTP"),
        (b"\x16\x03", "said nothing"),
        (client_hello({"cut": 60}, HOST), "not completed in time"),
        (client_hello({"version": "1.0"}, HOST), "older than TLS 1.2"),
        (client_hello({"extensions": "0015 ea60" + "00" * 60000}, HOST), "malformed"),
    ],
)
def test_a_tunnel_that_is_ended_leaves_one_receipt(gate: Proxy, sent: bytes, says: str) -> None:
    with opened(gate) as wire:
        wire.send(sent)
        assert wire.closed(4)
    assert eventually(lambda: len(gate.boundary.refused) == 1)
    ((principal, attempt, code, reason),) = gate.boundary.refused
    assert (principal, attempt.host, attempt.port, code) == ("agent", HOST, 443, "ENVELOPE_INVALID")
    assert says in reason


def test_without_a_principal_it_leaves_none(gate: Proxy) -> None:
    with opened(gate) as wire:
        gate.tokens.clear()
        wire.send(b"SSH-2.0-x\r\n")
        assert wire.closed(4)
    assert gate.boundary.refused == []


@pytest.mark.parametrize("says", [b"", b"\x15\x03\x03\x00\x02\x02\x30"])  # nothing; the alert unknown_ca
def test_a_client_that_turns_away_was_refused_nothing(gate: Proxy, says: bytes) -> None:
    with opened(gate) as wire:
        wire.send(client_hello({}, HOST))
        assert wire.sock.recv(5)[:1] == b"\x16"
        wire.send(says)
        wire.sock.shutdown(socket.SHUT_WR)
        assert wire.closed(4)
    assert gate.get(HOST).status == 200
    assert gate.boundary.refused == []


@pytest.mark.parametrize(
    "told",
    [
        {"extensions": ECH},  # every browser sends one, real or not
        {"split": 1},
        {"split": 7},
        {"alpn": ["h3"]},
        {"alpn": ["spdy/3", "h3", "http/1.1"]},
        {"sni": "ALLOWED.test"},
        {"extensions": "0015 3000" + "00" * 0x3000},
    ],
)
def test_an_unusual_hello_is_answered(gate: Proxy, told: dict[str, object]) -> None:
    with opened(gate) as wire:
        hello = client_hello(told, HOST)
        for at in range(0, len(hello), 400):  # in several reads too
            wire.send(hello[at : at + 400])
        assert wire.sock.recv(5)[:3] == b"\x16\x03\x03"


@pytest.mark.parametrize("sni", ["cloudflare-ech.test", None])
def test_the_outer_name_of_a_real_ech_is_foreign(gate: Proxy, sni: str | None) -> None:
    """ECH is not looked at: what counts is the name that can be read."""
    with opened(gate) as wire:
        wire.tls(gate.ca, sni, verify=HOST)
        wire.send(GET)
        answer = wire.reply()
    assert (answer.status, answer.json()["reason_code"]) == (400, "ENVELOPE_INVALID")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("alpn", [(), ("http/1.1",), ("h3", "http/1.1"), ("foo",)])
def test_versions_and_protocols(gate: Proxy, version: ssl.TLSVersion, alpn: tuple[str, ...]) -> None:
    with opened(gate) as wire:
        wire.sock = context(gate, version, alpn).wrap_socket(wire.sock, server_hostname=HOST)
        assert wire.sock.version() == version.name.replace("_", ".")
        assert wire.sock.selected_alpn_protocol() == ("http/1.1" if "http/1.1" in alpn else None)
        wire.send(GET)
        assert wire.reply().status == 200


def test_h3_before_h2_is_h2(gate: Proxy) -> None:
    with gate.tunnel(f"{HOST}:443", ("h3", "h2")) as wire:
        assert Http2Wire(wire).get(HOST).status == 200


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_resumed_speaks_for_nobody(gate: Proxy, version: ssl.TLSVersion) -> None:
    shared, session = context(gate, version), None
    for _ in range(2):
        with opened(gate) as wire:
            wire.sock = shared.wrap_socket(wire.sock, server_hostname=HOST, session=session)
            wire.send(GET)
            assert wire.reply().status == 200
            session = wire.sock.session
    gate.tokens.clear()
    with gate.wire() as wire:
        assert wire.connect(f"{HOST}:443").status == 407


def test_a_hello_right_behind_the_connect(gate: Proxy) -> None:
    """Clients may hurry: what comes with the CONNECT belongs to the tunnel."""
    with gate.wire() as wire:
        wire.send(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n{AUTH}\r\n".encode() + client_hello({}, HOST))
        assert wire.reply(head_only=True).status == 200
        assert wire.exactly(3) == b"\x16\x03\x03"


def test_a_half_closed_tunnel_is_closed(gate: Proxy) -> None:
    with opened(gate) as wire:
        wire.sock.shutdown(socket.SHUT_WR)
        assert wire.closed(2)
    assert gate.get(HOST).status == 200


def test_a_client_cannot_renegotiate(gate: Proxy) -> None:
    """Another handshake could name another host once the first has been judged."""
    with opened(gate) as wire:
        client = SSL.Context(SSL.TLSv1_2_METHOD)
        client.load_verify_locations(str(gate.ca))
        talk = SSL.Connection(client, wire.sock)
        wire.sock.settimeout(None)
        talk.set_tlsext_host_name(HOST.encode())
        talk.set_connect_state()
        talk.do_handshake()
        talk.set_tlsext_host_name(b"evil.test")
        assert talk.renegotiate()
        with pytest.raises(SSL.Error):
            talk.do_handshake()
    assert gate.get(HOST).status == 200
