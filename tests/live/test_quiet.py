"""A refusal sends nothing to anybody: no name is looked up and no connection is begun (a DNS query is a byte leaving)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from live.ask import Request, plain, plain_in_tunnel, tls_1, tls_2, websocket
from live.gate import Agent, serving
from live.ledger import Pair, ledger_gate
from live.watched import WatchedGate
from live.wire import Door, Response
from names.gate import naming
from names.nameserver import Nameserver
from origin.certificates import Authority
from origin.server import Origins

AGENT = Agent("quiet", ["ledger/read-items", "ledger/read-package"])
REFUSED = [
    Request("GET", "https://unknown.test/"),
    Request("GET", "https://open.test/page"),
    Request("GET", "https://api.ledger.test/feed"),
    Request("GET", "https://api.ledger.test/items/../feed"),
]


@pytest.fixture(scope="module")
def dns() -> Iterator[Nameserver]:
    with Nameserver() as nameserver:
        yield nameserver


@pytest.fixture(scope="module")
def gate(
    tmp_path_factory: pytest.TempPathFactory, origins: Origins, authority: Authority, dns: Nameserver
) -> Iterator[WatchedGate]:
    pair, directory = Pair.open(origins), tmp_path_factory.mktemp("quiet")
    gate = ledger_gate(WatchedGate, directory, [AGENT], pair, authority)
    known = {name: address for name, address in pair.answers.items() if not name.startswith("files.")}
    gate.configure([AGENT], network={"resolve": known, "upstream_ca": str(authority.pem)})
    with serving(gate, EFFECTGATE_TEST_WATCH=str(gate.watch), **naming(directory, dns)):
        yield gate


@pytest.mark.parametrize("ask", [plain, plain_in_tunnel, tls_1, tls_2, websocket])
@pytest.mark.parametrize("request_", REFUSED, ids=[request.url for request in REFUSED])
def test_a_refusal_looks_nothing_up_and_dials_nobody(
    gate: WatchedGate, dns: Nameserver, ask: Callable[[Door, Request], Response], request_: Request
) -> None:
    before = gate.seen()
    response = ask(gate.door(AGENT), request_)
    assert response.status in (400, 403)
    assert (gate.seen(), dns.names()) == (before, [])


def test_an_admitted_request_is_dialled(gate: WatchedGate) -> None:
    before = len(gate.seen())
    assert tls_1(gate.door(AGENT), Request("GET", "https://api.ledger.test/items/7")).status == 200
    assert [line.split()[0] for line in gate.seen()[before:]] == ["socket.connect"]


def test_an_admitted_name_is_looked_up_once(gate: WatchedGate, dns: Nameserver) -> None:
    """That the watch sees what it would have to."""
    before = len(gate.seen())
    response = tls_1(gate.door(AGENT), Request("GET", "https://files.ledger.test/tool"))
    assert (response.status, response.json["failure"]) == (502, "resolve")
    assert (dns.names(), dns.count()) == (["files.ledger.test"], 2)
    assert [line.split()[0] for line in gate.seen()[before:]] == ["socket.sendto"] * 2
