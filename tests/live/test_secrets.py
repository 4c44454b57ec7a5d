"""Secrets planted in every place of a request, and everything written searched for them."""

from __future__ import annotations

import base64
import secrets
from pathlib import Path

import pytest

from live.ask import Request, plain, tls_1, tls_2
from live.gate import Agent, Gate, serving
from live.ledger import Pair, ledger_gate
from origin.certificates import Authority
from origin.server import Origins

AGENT = Agent("reader", ["ledger/read-items", "ledger/search", "ledger/write-item"])
PLACES = ("authorization", "basic", "cookie", "api-key", "header", "query", "body", "form", "refused-path")


@pytest.fixture(scope="module")
def planted() -> dict[str, str]:
    return {place: f"{place}-{secrets.token_hex(16)}" for place in PLACES}


def _requests(planted: dict[str, str]) -> list[Request]:
    basic = base64.b64encode(f"user:{planted['basic']}".encode()).decode()
    headers = [
        ("Authorization", f"Bearer {planted['authorization']}"),
        ("Cookie", f"session={planted['cookie']}"),
        ("X-Api-Key", planted["api-key"]),
        ("X-Custom", planted["header"]),
    ]
    form = [("Content-Type", "application/x-www-form-urlencoded"), ("Authorization", f"Basic {basic}")]
    return [
        Request("GET", f"https://api.ledger.test/items/7?token={planted['query']}", headers),
        Request("GET", f"https://api.ledger.test/items/7?{planted['query']}", headers),
        Request("DELETE", f"https://api.ledger.test/items/7?token={planted['query']}", headers),
        Request("GET", f"https://unknown.test/{planted['refused-path']}?token={planted['query']}", headers),
        Request("PUT", "https://api.ledger.test/items/7", headers, planted["body"].encode()),
        Request("POST", "https://api.ledger.test/rpc", form, f"op=find&q={planted['form']}".encode()),
        Request("POST", "https://api.ledger.test/rpc", form, f"op=purge&q={planted['form']}".encode()),
        Request("GET", f"https://api.ledger.test/items/../{planted['refused-path']}", headers),
    ]


def _written(gate: Gate) -> dict[str, bytes]:
    """Every file of the installation but the two that we wrote ourselves."""
    ours = {gate.config, gate.grants}
    return {str(file): file.read_bytes() for file in gate.directory.rglob("*") if file.is_file() and file not in ours}


def test_no_secret_is_written_anywhere(
    tmp_path: Path, origins: Origins, authority: Authority, planted: dict[str, str]
) -> None:
    pair = Pair.open(origins)
    with serving(ledger_gate(Gate, tmp_path, [AGENT], pair, authority)) as gate:
        for request in _requests(planted):
            for ask in (plain, tls_1, tls_2):
                ask(gate.door(AGENT), request)
        wrong = Agent(AGENT.name, [])
        assert plain(gate.door(wrong), _requests(planted)[0]).status == 407
        assert len(pair.requests()) == 3 * 4, "the granted requests did not arrive: this search would prove nothing"
        while_running = _written(gate) | {"/metrics": gate.metrics_page().encode()}
        gate.stop()
        written = while_running | {f"{name} at the end": data for name, data in _written(gate).items()}
    tokens = {"token": AGENT.token, "wrong token": wrong.token}
    tokens["login"] = gate.door(AGENT).authorization[1].removeprefix("Basic ")
    for place, secret in (planted | tokens).items():
        found = [name for name, data in written.items() if secret.encode() in data]
        assert not found, f"the secret in {place} was written to {found}"
