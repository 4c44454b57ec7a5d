"""What the process shows of itself, and what it never does: readiness, metrics, the agent's own grant, no dial for a refusal."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from live.ask import Request, plain, tls_1, tls_2, websocket
from live.gate import Agent, Gate, serving
from live.ledger import Pair, ledger_gate
from live.wire import exchange, head, websocket_through
from origin.certificates import Authority
from origin.server import Origins

AGENT = Agent("reader", ["ledger/read-items", "ledger/write-item"])
GET = Request("GET", "https://api.ledger.test/items/7")
DELETE = Request("DELETE", "https://api.ledger.test/items/7")


@pytest.fixture(scope="module")
def pair(origins: Origins) -> Pair:
    return Pair.open(origins)


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory, pair: Pair, authority: Authority) -> Iterator[Gate]:
    with serving(ledger_gate(Gate, tmp_path_factory.mktemp("service"), [AGENT], pair, authority)) as gate:
        yield gate


def test_it_is_alive_and_ready_and_serves_no_metrics_on_the_proxy_port(gate: Gate) -> None:
    assert gate.status("/healthz") == 200
    assert gate.status("/readyz") == 200
    with socket.create_connection(("127.0.0.1", gate.port), 5) as connection:
        assert exchange(connection, head("GET", "/metrics", [("Host", f"127.0.0.1:{gate.port}")])).status != 200


def test_requests_show_on_the_metrics_page(gate: Gate) -> None:
    known = {"principal": "reader"}
    allowed = gate.metric("effectgate_requests_total", verdict="ALLOW", effect="ledger/read-items", **known)
    denied = gate.metric("effectgate_requests_total", verdict="DENY", reason_code="INSUFFICIENT_PRIVILEGE", **known)
    wanted = gate.metric("effectgate_would_admit_total", effect="ledger/delete-item", **known)
    assert (tls_1(gate.door(AGENT), GET).status, tls_1(gate.door(AGENT), DELETE).status) == (200, 403)
    assert gate.metric("effectgate_requests_total", verdict="ALLOW", effect="ledger/read-items", **known) == allowed + 1
    reasons = gate.metric("effectgate_requests_total", verdict="DENY", reason_code="INSUFFICIENT_PRIVILEGE", **known)
    assert reasons == denied + 1
    assert gate.metric("effectgate_would_admit_total", effect="ledger/delete-item", **known) == wanted + 1
    for name in ("effectgate_decision_seconds_count", "effectgate_receipts_total", "effectgate_catalog_info"):
        assert gate.metric(name) > 0, name


def test_a_scan_of_hosts_adds_no_series(gate: Gate) -> None:
    assert plain(gate.door(AGENT), Request("GET", "https://scan-0.test/")).status == 403
    before = len(gate.metrics_page().splitlines())
    for number in range(1, 30):
        assert plain(gate.door(AGENT), Request("GET", f"https://scan-{number}.test/{number}")).status == 403
    assert len(gate.metrics_page().splitlines()) == before
    assert "scan-" not in gate.metrics_page()


def test_an_agent_reads_its_own_grant_through_the_proxy(gate: Gate) -> None:
    response = plain(gate.door(AGENT), Request("GET", "http://effectgate.internal/v1/grant"))
    assert response.status == 200, response
    assert "ledger/read-items" in response.body.decode()
    escalate = Request("POST", "http://effectgate.internal/v1/escalate", [("Content-Type", "application/json")], b"{}")
    refused = plain(gate.door(AGENT), escalate)
    assert refused.status == 501
    assert refused.json


def test_nobody_reads_a_grant_without_a_credential(gate: Gate) -> None:
    with gate.door(AGENT).dial() as connection:
        request = head("GET", "http://effectgate.internal/v1/grant", [("Host", "effectgate.internal")])
        assert exchange(connection, request).status == 407


def test_a_stranger_is_refused_and_leaves_no_receipt(gate: Gate, pair: Pair) -> None:
    before, dialled = len(gate.receipts()), pair.accepts
    stranger = gate.door(Agent("reader", []))
    for ask in (plain, tls_1):
        assert ask(stranger, GET).status == 407
    assert (len(gate.receipts()), pair.accepts) == (before, dialled)


@pytest.mark.parametrize("ask", [plain, tls_1, tls_2, websocket])
def test_a_refused_host_is_never_dialled(gate: Gate, pair: Pair, ask: type) -> None:
    dialled = pair.accepts
    refusal = ask(gate.door(AGENT), DELETE if ask is not websocket else Request("GET", "https://open.test/"))
    assert refusal.status == 403
    assert pair.accepts == dialled


def test_a_websocket_carries_messages_both_ways(gate: Gate, pair: Pair) -> None:
    with websocket_through(gate.door(AGENT), "api.ledger.test", "/items/7") as messages:
        messages.send("hello")
        assert messages.recv(timeout=5) == "hello"
    assert pair.secure.journal.requests()[-1].frames == [b"hello"]


def test_what_the_client_wrote_is_what_arrives(gate: Gate, pair: Pair) -> None:
    odd = Request(
        "GET", "https://api.ledger.test/items/%7eA%2dz?b=%20&a=+&a=", [("X-Odd", "Mixed, case"), ("x-two", "2")]
    )
    assert tls_1(gate.door(AGENT), odd).status == 200
    seen = pair.secure.journal.requests()[-1]
    assert seen.target == b"/items/%7eA%2dz?b=%20&a=+&a="
    names = [name.lower() for name, _ in seen.fields]
    assert (b"X-Odd", b"Mixed, case") in seen.fields or (b"x-odd", b"Mixed, case") in seen.fields
    assert not [name for name in names if name.startswith((b"proxy-", b"x-effectgate", b"via", b"x-forwarded"))]


def test_a_streamed_body_arrives_whole(gate: Gate, pair: Pair) -> None:
    body = bytes(range(256)) * 8192  # 2 MiB
    for ask in (plain, tls_1):
        assert ask(gate.door(AGENT), Request("PUT", "https://api.ledger.test/items/7", (), body)).status == 200
    assert [seen.body == body for seen in pair.requests() if seen.method == "PUT"] == [True, True]
