"""One client connection: who it speaks for, where its tunnel leads, and what it has leave for right now."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from mitmproxy.connection import Client, Server

from effectgate.boundary import Caller
from effectgate.proxy.settings import Endpoint
from effectgate.proxy.ticket import Ticket


class Authenticate(Protocol):
    """Credential to caller; called on every request, so it must be cheap and must not block."""

    def __call__(self, proxy_authorization: str, /) -> Caller | None:
        """The caller whose credential this Proxy-Authorization value bears, or None. Compares in constant time."""


@dataclass(slots=True, eq=False)
class Session:
    """`credential` is the Proxy-Authorization value of the CONNECT, kept so that revocation bites on open tunnels."""

    client: Client
    tunnel: Endpoint | None = None
    credential: str = ""
    fault: str = ""  # why every request in this tunnel is refused, such as a foreign SNI
    spoken: bool = False  # the tunnel has begun to speak TLS or HTTP
    tickets: set[Ticket] = field(default_factory=set)
    late: set[Endpoint | None] = field(default_factory=set)  # origins whose handshake took too long

    def credentials(self) -> set[str]:
        """Every credential that something open on this connection relies on."""
        return {self.credential, *(ticket.credential for ticket in self.tickets)} - {""}

    def leave_for(self, server: Server) -> list[Ticket]:
        """The requests in flight that have leave for exactly this endpoint."""
        return [ticket for ticket in self.tickets if ticket.endpoint == server.address and not ticket.closed]


class Sessions:
    """All client connections by mitmproxy's connection id, and the way to end one."""

    def __init__(self, authenticate: Authenticate, admitted: Callable[[str], bool]) -> None:
        self._open: dict[str, Session] = {}
        self._authenticate = authenticate
        self._admitted = admitted
        self.disconnect: Callable[[Client], None] = lambda client: None
        self.closed = ""  # why nobody may go anywhere, such as an option that lets traffic past the gate
        self.in_flight: Counter[str] = Counter()  # open tickets by principal

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Session]:
        return iter(tuple(self._open.values()))

    def open(self, client: Client) -> Session:
        """Begin a session for a new connection."""
        session = self._open[client.id] = Session(client)
        return session

    def of(self, client: Client) -> Session:
        """The session of a connection; raises KeyError once it is closed."""
        return self._open[client.id]

    def find(self, client: Client) -> Session | None:
        """The session of a connection, if it is still open."""
        return self._open.get(client.id)

    def close(self, client: Client) -> Session | None:
        """Forget a session; None if it was never opened."""
        return self._open.pop(client.id, None)

    def identify(self, client: Client, credential: str) -> Caller | None:
        """The caller behind a credential, marked with the connection it came over."""
        caller = self._authenticate(credential) if credential else None
        return dataclasses.replace(caller, session_id=client.id) if caller else None

    def recheck(self) -> int:
        """End every connection whose credential is gone, and every one with a request open under a grant that is gone.

        An idle connection without a grant stays: its next request is refused, with the reason. Returns how many ended.
        """
        relied_on = {credential for session in self for credential in session.credentials()}
        callers = {credential: self._still(credential) for credential in relied_on}
        stale = [session for session in self if not self._stands(session, callers)]
        for session in stale:
            self.disconnect(session.client)
        return len(stale)

    def _stands(self, session: Session, callers: Mapping[str, Caller | None]) -> bool:
        held = [callers[credential] for credential in session.credentials()]
        if None in held:
            return False
        return all(self._admitted(ticket.caller.principal) for ticket in session.tickets)

    def _still(self, credential: str) -> Caller | None:
        """The caller of a credential; None too where nobody can tell, such as with a store that cannot be read."""
        try:
            return self._authenticate(credential)
        except Exception:  # a check that ended here would never look again
            return None

    def admit(self, client: Client, ticket: Ticket) -> bool:
        """Count a ticket as open; false if its connection has gone meanwhile."""
        self.in_flight[ticket.caller.principal] += 1
        session = self._open.get(client.id)
        if session is not None:
            session.tickets.add(ticket)
        return session is not None

    def release(self, client: Client, ticket: Ticket) -> None:
        """Count a ticket as closed."""
        self.in_flight[ticket.caller.principal] -= 1
        self.in_flight += Counter()  # drops the zeros
        if (session := self._open.get(client.id)) is not None:
            session.tickets.discard(ticket)
