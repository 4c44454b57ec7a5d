"""The last choke by itself: no leave, no connection, whatever asked for it."""

from __future__ import annotations

from typing import Any

import pytest
from mitmproxy.connection import Client, Server
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from effectgate.boundary import Caller
from effectgate.proxy.session import Sessions
from effectgate.proxy.ticket import Destination, Ticket
from effectgate.proxy.upstream import Upstream

CLIENT = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2))


def ticket(host: str = "a.test", port: int = 443) -> Ticket:
    answer: Any = None
    return Ticket(Caller("agent"), "", answer, Destination(b"GET", b"https", host, port, b"/"))


def asked(sessions: Sessions, address: tuple[str, int], **more: Any) -> Server:
    server = Server(address=address, **more)
    Upstream(sessions, 1.0, 60.0).server_connect(ServerConnectionHookData(server, CLIENT))
    return server


@pytest.fixture
def sessions() -> Sessions:
    """One open session without leave."""
    found = Sessions(lambda _: Caller("agent"), lambda _: True)
    found.open(CLIENT)
    return found


def test_no_ticket_no_connection(sessions: Sessions) -> None:
    assert asked(sessions, ("a.test", 443)).error


def test_a_ticket_leads_to_its_endpoint_only_and_fixes_the_name(sessions: Sessions) -> None:
    sessions.admit(CLIENT, ticket())
    assert asked(sessions, ("b.test", 443)).error
    assert asked(sessions, ("a.test", 80)).error
    server = asked(sessions, ("a.test", 443), sni="b.test")
    assert (server.error, server.sni) == (None, "a.test")


def test_a_used_ticket_leads_nowhere(sessions: Sessions) -> None:
    used = ticket()
    sessions.admit(CLIENT, used)
    used.closed = True
    assert asked(sessions, ("a.test", 443)).error


def test_other_transports_and_detours_are_refused(sessions: Sessions) -> None:
    sessions.admit(CLIENT, ticket())
    assert asked(sessions, ("a.test", 443), transport_protocol="udp").error
    assert asked(sessions, ("a.test", 443), via=("http", ("proxy.test", 3128))).error


def test_a_closed_gate_lets_nothing_through(sessions: Sessions) -> None:
    sessions.admit(CLIENT, ticket())
    sessions.closed = "an option"
    assert asked(sessions, ("a.test", 443)).error
