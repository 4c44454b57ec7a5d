"""How an allowed request ended: bytes, hashes, duration, failure; handed to the boundary once."""

from __future__ import annotations

import asyncio
import logging

from mitmproxy.connection import Client

from effectgate.boundary import Boundary
from effectgate.proxy import reply
from effectgate.proxy.failure import Failure
from effectgate.proxy.flow import AgentFlow
from effectgate.proxy.observer import Observer
from effectgate.proxy.session import Sessions
from effectgate.proxy.ticket import Ticket
from effectgate.proxy.transfer import strip_response
from effectgate.proxy.websocket import accepts

logger = logging.getLogger(__name__)


class Completion:
    """The hooks responseheaders, effectgate_closed, error, websocket_message, websocket_end and client_disconnected."""

    name = "effectgate-completion"

    def __init__(self, sessions: Sessions, boundary: Boundary, observer: Observer) -> None:
        self._sessions = sessions
        self._boundary = boundary
        self._pending: set[asyncio.Task[None]] = set()
        self.observer = observer

    def open(self, client: Client, ticket: Ticket) -> None:
        """Count a new ticket as in flight, or close it at once if its client has left while it was decided."""
        if not self._sessions.admit(client, ticket):
            self._close(client, ticket, aborted=True)

    def responseheaders(self, flow: AgentFlow) -> None:
        """Stream the response; one that switches protocols unasked goes nowhere."""
        ticket, response = flow.ticket, flow.response
        if ticket is None or response is None:
            return
        ticket.answered(response.status_code)
        if response.status_code == 101 and not (ticket.websocket and accepts(flow.request, response)):
            ticket.error = "upgrade"
            flow.stop = reply.failed(ticket.answer, Failure("upgrade"), flow.user_agent)
            self._close(flow.client_conn, ticket, aborted=True)
            return
        strip_response(response, ticket.answer.headers)
        response.stream = ticket.received

    def effectgate_closed(self, flow: AgentFlow) -> None:
        """Request and response are both through."""
        self._end(flow)

    def error(self, flow: AgentFlow) -> None:
        """The flow ended early, on either side."""
        ticket, failure = flow.ticket, flow.failure
        if ticket is None:
            self._sessions.leave(flow.client_conn, flow.place)
            return
        if failure is not None and failure.kind == "closed" and self._was_late(flow):
            failure = flow.failure = Failure("timeout")
        if not ticket.error:
            ticket.error = failure.kind if failure else "closed" if ticket.status else ""
        self._close(flow.client_conn, ticket, aborted=failure is None)

    def _was_late(self, flow: AgentFlow) -> bool:
        session = self._sessions.find(flow.client_conn)
        return session is not None and flow.ticket is not None and flow.ticket.endpoint in session.late

    def websocket_message(self, flow: AgentFlow) -> None:
        """Count a message and forget it, for mitmproxy would keep them all; one that its limit does not allow goes nowhere."""
        assert flow.websocket is not None
        message = flow.websocket.messages[-1]
        flow.websocket.messages.clear()
        if flow.ticket is None or not flow.ticket.passes(message.content, up=message.from_client):
            message.drop()

    def websocket_end(self, flow: AgentFlow) -> None:
        """The conversation is over."""
        self._end(flow)

    def client_disconnected(self, client: Client) -> None:
        """Close what the connection leaves open."""
        if (session := self._sessions.close(client)) is not None:
            for ticket in tuple(session.tickets):
                self._close(client, ticket, aborted=True)
        self.observer.connections(len(self._sessions))

    async def drain(self, seconds: float = 5.0) -> None:
        """Wait until the completions handed over so far have been taken, but no longer than this."""
        if self._pending:
            await asyncio.wait(tuple(self._pending), timeout=seconds)

    def _end(self, flow: AgentFlow) -> None:
        if (ticket := flow.ticket) is not None:
            session = self._sessions.find(flow.client_conn)
            self._close(flow.client_conn, ticket, aborted=session is not None and session.cut)

    def _close(self, client: Client, ticket: Ticket, *, aborted: bool) -> None:
        if ticket.closed:
            return
        ticket.closed = True
        self._sessions.release(client, ticket)
        if ticket.error:
            self.observer.upstream_error(ticket.error)
        self.observer.upstream_bytes(ticket.sent.size, ticket.received.size)
        task = asyncio.ensure_future(self._boundary.complete(ticket.answer, ticket.outcome(aborted=aborted)))
        self._pending.add(task)
        task.add_done_callback(self._taken)

    def _taken(self, task: asyncio.Task[None]) -> None:
        self._pending.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a completion was not taken", exc_info=error)
