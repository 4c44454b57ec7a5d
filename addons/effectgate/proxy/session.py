"""One client connection: who it speaks for, where its tunnel leads, and what it has leave for right now."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from mitmproxy.connection import Client, Server

from effectgate.boundary import Caller
from effectgate.proxy.occupancy import Occupancy, Place, now
from effectgate.proxy.settings import Endpoint, Limits
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
    principals: set[str] = field(default_factory=set)  # whose valid credentials this connection has shown
    places: set[Place] = field(default_factory=set)  # of its requests in flight
    ended: bool = False  # it has been told to close
    opened: float = field(default_factory=now)
    used: float = field(default_factory=now)  # when a request last ended on it
    late: set[Endpoint | None] = field(default_factory=set)  # origins whose handshake took too long

    def credentials(self) -> set[str]:
        """Every credential that something open on this connection relies on."""
        return {self.credential, *(ticket.credential for ticket in self.tickets)} - {""}

    def leave_for(self, server: Server) -> list[Ticket]:
        """The requests in flight that have leave for exactly this endpoint."""
        return [ticket for ticket in self.tickets if ticket.endpoint == server.address and not ticket.closed]


class Sessions:
    """All client connections by mitmproxy's connection id, and the way to end one."""

    def __init__(
        self, authenticate: Authenticate, admitted: Callable[[str], bool], limits: Limits | None = None
    ) -> None:
        self._open: dict[str, Session] = {}
        self._strangers: dict[str, Session] = {}  # oldest first
        self.occupancy = Occupancy(limits or Limits())
        self._authenticate = authenticate
        self._admitted = admitted
        self.disconnect: Callable[[Client], None] = lambda client: None
        self.closed = ""  # why nobody may go anywhere, such as an option that lets traffic past the gate
        self.stopping = False  # what is in flight may end, and nothing new begins
        self.deciding = 0  # requests whose decision is not made yet

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Session]:
        return iter(tuple(self._open.values()))

    @property
    def busy(self) -> bool:
        """Whether a request is being decided or is under way."""
        return bool(self.deciding or self.occupancy.requests)

    @contextmanager
    def decision(self) -> Iterator[None]:
        """Counts a request as being decided for the length of the block."""
        self.deciding += 1
        try:
            yield
        finally:
            self.deciding -= 1

    def open(self, client: Client) -> Session:
        """Begin a session for a new connection."""
        session = self._open[client.id] = self._strangers[client.id] = Session(client)
        return session

    @property
    def strangers(self) -> int:
        """How many connections have shown no valid credential yet."""
        return len(self._strangers)

    def eldest_stranger(self) -> Session | None:
        """The connection that has been without a valid credential for longest: the first to make room."""
        return next(iter(self._strangers.values()), None)

    def end(self, session: Session) -> None:
        """Close a connection; it counts as a stranger no more, though it takes a moment to go."""
        session.ended = True
        self._strangers.pop(session.client.id, None)
        self.disconnect(session.client)

    def claim(self, session: Session, principal: str) -> bool:
        """Count a connection as the principal's; false where it has too many."""
        if principal in session.principals:
            return True
        if not self.occupancy.connect(principal):
            return False
        session.principals.add(principal)
        self._strangers.pop(session.client.id, None)
        return True

    def enter(self, client: Client, principal: str) -> Place | None:
        """A place for one more request of this connection; None where the principal has too many in flight."""
        session = self._open.get(client.id)
        if session is None or (place := self.occupancy.enter(principal)) is None:
            return None
        session.places.add(place)
        return place

    def leave(self, client: Client, place: Place | None) -> None:
        """Give a place up; harmless where it was given up before, or never taken."""
        if place is None:
            return
        place.leave()
        if (session := self._open.get(client.id)) is not None:
            session.places.discard(place)
            session.used = now()

    def of(self, client: Client) -> Session:
        """The session of a connection; raises KeyError once it is closed."""
        return self._open[client.id]

    def find(self, client: Client) -> Session | None:
        """The session of a connection, if it is still open."""
        return self._open.get(client.id)

    def close(self, client: Client) -> Session | None:
        """Forget a session and give up what it took; None if it was never opened."""
        self._strangers.pop(client.id, None)
        session = self._open.pop(client.id, None)
        if session is not None:
            for place in session.places:
                place.leave()
            for principal in session.principals:
                self.occupancy.disconnect(principal)
        return session

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
        session = self._open.get(client.id)
        if session is not None:
            session.tickets.add(ticket)
        return session is not None

    def release(self, client: Client, ticket: Ticket) -> None:
        """Count a ticket as closed."""
        self.leave(client, ticket.place)
        if (session := self._open.get(client.id)) is not None:
            session.tickets.discard(ticket)
