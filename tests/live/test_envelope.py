"""Hostile bytes by raw sockets: refused before policy, with a receipt where an agent is known, and nothing reaches an origin."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from live.ask import Request, tls_1
from live.gate import Agent, Gate, serving, wait
from live.ledger import Pair, ledger_gate
from live.wire import Door, RefusedError, Response, exchange, exchange_h2, head
from origin.certificates import Authority
from origin.server import Origins

AGENT = Agent("sender", ["ledger/read-anything", "ledger/write-item", "ledger/read-shop"])
HOST = "api.ledger.test"
GOOD = Request("GET", f"https://{HOST}/items/7")

# Requests as they stand in a tunnel; {host} is the host of the tunnel. Over plain HTTP the target becomes absolute.
HEADS: dict[str, str] = {
    "no host": "GET /items/7 HTTP/1.1\r\n\r\n",
    "two hosts": "GET /items/7 HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n\r\n",
    "another host": "GET /items/7 HTTP/1.1\r\nHost: open.test\r\n\r\n",
    "a host that ends alike": "GET /items/7 HTTP/1.1\r\nHost: {host}.evil.test\r\n\r\n",
    "a host with another port": "GET /items/7 HTTP/1.1\r\nHost: {host}:8443\r\n\r\n",
    "a host with userinfo": "GET /items/7 HTTP/1.1\r\nHost: open.test@{host}\r\n\r\n",
    "a host with NUL": "GET /items/7 HTTP/1.1\r\nHost: {host}\x00.evil.test\r\n\r\n",
    "a host with two dots at its end": "GET /items/7 HTTP/1.1\r\nHost: {host}..\r\n\r\n",
    "two lengths": "PUT /items/7 HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a length and chunks": "PUT /items/7 HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\n"
    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a signed length": "PUT /items/7 HTTP/1.1\r\nHost: {host}\r\nContent-Length: +1\r\n\r\na",
    "another transfer coding": "PUT /items/7 HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked, misspelt": "PUT /items/7 HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a folded line": "GET /items/7 HTTP/1.1\r\nHost: {host}\r\nX-A: b\r\n c\r\n\r\n",
    "a bare CR in a value": "GET /items/7 HTTP/1.1\r\nHost: {host}\r\nX-A: b\rX-Share: k\r\n\r\n",
    "NUL in a value": "GET /items/7 HTTP/1.1\r\nHost: {host}\r\nX-A: b\x00c\r\n\r\n",
    "a space before a colon": "GET /items/7 HTTP/1.1\r\nHost: {host}\r\nContent-Length : 0\r\n\r\n",
    "TRACE": "TRACE /items/7 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "CONNECT in a tunnel": "CONNECT open.test:443 HTTP/1.1\r\nHost: open.test:443\r\n\r\n",
    "a raw NUL in the path": "GET /items/\x00 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a raw backslash in the path": "GET /items\\7 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "an upgrade to h2c": "GET /items/7 HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: H2C\r\n\r\n",
    "an upgrade to TLS": "GET /items/7 HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: TLS/1.2\r\n\r\n",
    "no HTTP at all": "\x16\x03nonsense\r\n\r\n",
}
# What CONNECT may not ask for.
AUTHORITIES = (
    "127.0.0.1:443",
    "127.1:443",
    "2130706433:443",
    "0x7f000001:443",
    "017700000001:443",
    "[::1]:443",
    "[::ffff:127.0.0.1]:443",
    "[api.ledger.test]:443",
    "api.ledger.test..:443",
    "api.ledger.test%00:443",
    "user@api.ledger.test:443",
    "api.ledger.test:22",
    "api.ledger.test:53",
    "api.ledger.test:0",
    "api.ledger.test",
    "169.254.169.254:80",
)


@pytest.fixture(scope="module")
def pair(origins: Origins) -> Pair:
    return Pair.open(origins)


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory, pair: Pair, authority: Authority) -> Iterator[Gate]:
    with serving(ledger_gate(Gate, tmp_path_factory.mktemp("envelope"), [AGENT], pair, authority)) as gate:
        yield gate


@pytest.fixture(autouse=True)
def _nothing_arrives(gate: Gate, pair: Pair) -> Iterator[None]:
    """No origin is dialled by any of these, and the next good request works."""
    dialled = pair.accepts
    yield
    assert pair.accepts == dialled
    assert tls_1(gate.door(AGENT), GOOD).status == 200


def _answer(door: Door, text: str, form: str) -> Response | None:
    """The response; None where the connection was closed without one."""
    raw = text.format(host=HOST).encode("latin-1")
    if form == "plain":
        raw = raw.replace(b" /", f" http://{HOST}/".encode(), 1)
        raw = raw.replace(b"\r\n", ("\r\n" + ": ".join(door.authorization) + "\r\n").encode(), 1)
    try:
        with door.dial() if form == "plain" else door.secure(f"{HOST}:443") as connection:
            return exchange(connection, raw)
    except OSError:
        return None


# A CONNECT outside a tunnel is the ordinary case.
FORMS = [
    (name, form) for name in HEADS for form in ("tls", "plain") if (name, form) != ("CONNECT in a tunnel", "plain")
]


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_an_ambiguous_request_is_refused(gate: Gate, name: str, form: str) -> None:
    response = _answer(gate.door(AGENT), HEADS[name], form)
    assert response is None or response.status == 400, response


def test_an_ambiguous_request_leaves_a_receipt(gate: Gate) -> None:
    before = _invalid(gate)
    _answer(gate.door(AGENT), HEADS["another host"], "tls")
    assert wait(lambda: _invalid(gate) == before + 1)


def _invalid(gate: Gate) -> int:
    return sum(receipt["reason_code"] == "ENVELOPE_INVALID" for receipt in gate.receipts())


@pytest.mark.parametrize("where", AUTHORITIES)
def test_a_tunnel_to_nowhere_good_is_refused(gate: Gate, where: str) -> None:
    connection, response = gate.door(AGENT).tunnel(where)
    with connection:
        assert response.status in (200, 400, 403), response
        if response.status == 200:
            response = exchange(connection, head("GET", "/items/7", [("Host", where)]))
            assert response.status in (400, 403), response


NAMES = ("api.ledger.test", "acme.shop.test")


@pytest.mark.parametrize(("sni", "host"), [pair for pair in itertools.product(NAMES, NAMES) if pair != NAMES[:1] * 2])
@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
def test_connect_sni_and_host_agree_or_nothing_is_dialled(gate: Gate, sni: str, host: str, alpn: str) -> None:
    """RFC 9110 section 4.3.4: fronting by any of the three names is refused."""
    request = Request("GET", f"https://{host}/status")
    try:
        with gate.door(AGENT).secure(f"{NAMES[0]}:443", sni=sni, alpn=(alpn,)) as connection:
            pseudo = [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", "/status")]
            response = (
                exchange_h2(connection, pseudo, [], b"") if alpn == "h2" else exchange(connection, request.origin_form)
            )
            assert response.status in (0, 400, 403), response
    except (OSError, RefusedError):
        pass  # refused before HTTP


def test_a_tunnel_that_speaks_neither_tls_nor_http_is_closed(gate: Gate) -> None:
    connection, response = gate.door(AGENT).tunnel(f"{HOST}:443")
    with connection:
        assert response.status == 200
        connection.settimeout(4.0)  # design.md section 3 says 2 s
        connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        while connection.recv(4096):
            pass
