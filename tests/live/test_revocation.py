"""Revocation, expiry and limits bite on the next request of a connection that is already open."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from live.ask import Request, plain, tls_1
from live.gate import Agent, Gate, effectgate, serving, wait
from live.ledger import Pair, ledger_gate
from live.wire import Response, exchange, websocket_through
from origin.certificates import Authority
from origin.server import Origins

GET = Request("GET", "https://api.ledger.test/items/7")
SOON = 12.0  # seconds until the short grant of these tests runs out
CLOSED_SECONDS = 3.0  # design.md section 6 says 1; the file watcher of a busy machine takes its own


@pytest.fixture(scope="module")
def pair(origins: Origins) -> Pair:
    return Pair.open(origins)


@pytest.fixture
def agents() -> list[Agent]:
    expires = (datetime.now(UTC) + timedelta(seconds=SOON)).isoformat()
    return [
        Agent("kept", ["ledger/read-items"]),
        Agent("revoked", ["ledger/read-items"]),
        Agent("short", ["ledger/read-items"], more={"expires": expires}),
        Agent("limited", ["ledger/read-items"], more={"limits": {"requests": 2, "per": "day"}}),
    ]


@pytest.fixture
def gate(tmp_path: Path, pair: Pair, authority: Authority, agents: list[Agent]) -> Iterator[Gate]:
    with serving(ledger_gate(Gate, tmp_path, agents, pair, authority)) as gate:
        yield gate


def _next(connection: ssl.SSLSocket) -> Response | None:
    """The answer to one more request; None where the connection has been closed."""
    try:
        return exchange(connection, GET.origin_form)
    except OSError:
        return None


def test_a_grant_taken_from_the_file_is_gone_on_the_next_request(gate: Gate, agents: list[Agent]) -> None:
    kept, revoked = agents[:2]
    with closing(gate.door(revoked).secure("api.ledger.test:443")) as connection:
        assert exchange(connection, GET.origin_form).status == 200
        gate.grant([kept])
        assert wait(lambda: gate.metric("effectgate_reload_total", result="ok") > 0, CLOSED_SECONDS)
        response = _next(connection)
        assert response is None or response.status in (403, 407)
    assert plain(gate.door(revoked), GET).status == 407
    assert plain(gate.door(kept), GET).status == 200


def test_a_token_revoked_by_command_is_gone_though_the_file_does_not_parse(gate: Gate, agents: list[Agent]) -> None:
    with closing(gate.door(agents[1]).secure("api.ledger.test:443")) as connection:
        assert exchange(connection, GET.origin_form).status == 200
        gate.grants.write_text("agents: [")
        run = effectgate("token", "revoke", agents[1].name, "--config", str(gate.config))
        assert run.returncode == 0, run.stderr
        response = _next(connection)
        assert response is None or response.status in (403, 407)
    assert plain(gate.door(agents[1]), GET).status == 407


def test_an_open_stream_is_closed_when_its_token_is_revoked(gate: Gate, agents: list[Agent]) -> None:
    with websocket_through(gate.door(agents[1]), "api.ledger.test", "/items/7") as messages:
        messages.send("hello")
        assert messages.recv(timeout=5) == "hello"
        assert effectgate("token", "revoke", agents[1].name, "--config", str(gate.config)).returncode == 0
        with pytest.raises(ConnectionClosed):
            messages.recv(timeout=CLOSED_SECONDS)


def test_a_grant_that_runs_out_refuses_on_the_open_connection(gate: Gate, agents: list[Agent]) -> None:
    with closing(gate.door(agents[2]).secure("api.ledger.test:443")) as connection:
        assert exchange(connection, GET.origin_form).status == 200

        def refused() -> bool:
            response = _next(connection)
            assert response is not None, "an expired grant is explained, not cut off"
            return response.status == 403 and response.json["reason_code"] == "NO_POLICY_DEFINED"

        assert wait(refused, SOON + 2)


def test_a_limit_that_is_used_up_tells_what_is_left_and_when_it_resets(gate: Gate, agents: list[Agent]) -> None:
    door = gate.door(agents[3])
    assert [tls_1(door, GET).status for _ in range(2)] == [200, 200]
    response = tls_1(door, GET)
    assert (response.status, response.json["reason_code"]) == (403, "BUDGET_EXCEEDED")
    assert "reset" in response.body.decode()
