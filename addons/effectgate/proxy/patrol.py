"""Who looks after connections that nobody uses: strangers without a credential, and agents that went quiet."""

from __future__ import annotations

from mitmproxy.connection import Client

from effectgate.proxy.observer import Observer
from effectgate.proxy.occupancy import now
from effectgate.proxy.session import Session, Sessions
from effectgate.proxy.settings import Limits


class Patrol:
    """Closes connections by what they do, never by what they send: a byte now and then keeps none open."""

    def __init__(self, sessions: Sessions, limits: Limits, observer: Observer) -> None:
        self._sessions = sessions
        self._limits = limits
        self._observer = observer

    def look(self) -> None:
        """Close what has been of no use for too long. To be called every now and then."""
        moment = now()
        for session in self._sessions:
            if not session.ended and (kind := self._overdue(session, moment)):
                self._close(session, kind)

    def make_room(self, connections: int) -> bool:
        """Before one more connection than `connections`: whether it may come in.

        The stranger that has waited longest goes first: one that means to show a credential does so at once.
        """
        full = connections >= self._limits.connections
        eldest = self._sessions.eldest_stranger()
        if eldest is not None and (full or self._sessions.strangers >= self._limits.strangers):
            self._close(eldest, "crowd")
            return True
        return not full

    def give_up(self, client: Client, kind: str) -> None:
        """End a connection whose client does not go on; what it left unfinished says so."""
        session = self._sessions.find(client)
        if session is None or session.ended:
            return
        for ticket in session.tickets if kind == "reader" else ():
            ticket.error = ticket.error or kind
        self._close(session, kind)

    def _overdue(self, session: Session, moment: float) -> str:
        if not session.principals:
            return "stranger" if moment - session.opened > self._limits.head_seconds else ""
        unused = not session.places and moment - session.used > self._limits.idle_seconds
        return "idle" if unused else ""

    def _close(self, session: Session, kind: str) -> None:
        self._observer.closed(kind)
        self._sessions.end(session)
