"""A stream that does not wait for its origin for ever, and asks once more where a kept connection was closed under its request."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakSet

from mitmproxy.connection import Connection
from mitmproxy.proxy import events, layer
from mitmproxy.proxy.layers.http import SendHttp
from mitmproxy.proxy.layers.http._events import (
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseHeaders,
    ResponseProtocolError,
)

from effectgate.proxy import reply
from effectgate.proxy.answering import AnsweringStream
from effectgate.proxy.failure import Failure
from effectgate.proxy.ticket import Ticket

# RFC 9110 section 9.2.1. PUT and DELETE are idempotent, but a second one may undo what others did meanwhile (ADR 0042).
SAFE = frozenset({b"GET", b"HEAD", b"OPTIONS"})
# How mitmproxy 12.3.1 begins its words for a connection that ended before anything of a response had come.
UNANSWERED = ("server closed connection", "peer closed connection", "HTTP/2 connection closed")

_answered: WeakSet[Connection] = WeakSet()


@dataclass
class GiveUp(events.Event):
    """The origin has been silent about this ticket for too long; `moved` is when anything last moved (monotonic)."""

    ticket: Ticket
    moved: float


class PatientStream(AnsweringStream):
    """An AnsweringStream that ends a wait which GiveUp tells of, and asks again, once, what it may ask again."""

    reused: bool = False  # the connection to the origin had already answered another request
    asked_again: bool = False

    def waits_for(self, ticket: Ticket) -> bool:
        """Whether an event about this ticket is for this stream, or for one inside the tunnel that it carries."""
        flow = getattr(self, "flow", None)
        if flow is None or flow.websocket is not None:
            return False
        return flow.ticket is ticket or (flow.request.method == "CONNECT" and self.child_layer is not None)

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, GiveUp):
            if self.flow.ticket is event.ticket and not event.ticket.closed and event.ticket.moved == event.moved:
                yield from self._give_up(event.ticket)
        else:
            yield from super()._handle_event(event)

    def _give_up(self, ticket: Ticket) -> layer.CommandGenerator[None]:
        self.flow.failure = Failure("timeout")
        yield from self.stop(reply.failed(ticket.answer, self.flow.failure, self.flow.user_agent))

    def make_server_connection(self) -> layer.CommandGenerator[bool]:
        """As in the base class, noting whether the connection has served before."""
        connected = yield from super().make_server_connection()
        self.reused = connected and self.context.server in _answered
        return connected

    def state_wait_for_response_headers(self, event: ResponseHeaders) -> layer.CommandGenerator[None]:
        """As in the base class, noting that the connection has served."""
        _answered.add(self.context.server)
        yield from super().state_wait_for_response_headers(event)

    def may_ask_again(self, event: RequestProtocolError | ResponseProtocolError) -> bool:
        """Whether an origin closed a kept connection before it answered, and the request is one that changes nothing.

        Its closing and the request may have crossed (RFC 9112 section 9.3.1); what has a body or an effect may have been acted upon.
        """
        return (
            isinstance(event, ResponseProtocolError)
            and event.message.startswith(UNANSWERED)
            and self.reused
            and not self.asked_again
            and self.flow.may_leave
            and self.flow.request.data.method in SAFE
            and self.flow.received.end_stream
            and (self.client_state, self.server_state) == (self.state_done, self.state_wait_for_response_headers)
        )

    def ask_again(self) -> layer.CommandGenerator[None]:
        """Send the request over a fresh connection, under the same ticket."""
        ticket = self.flow.ticket
        assert ticket is not None
        self.asked_again = ticket.asked_again = True
        if (yield from self.make_server_connection()):
            yield SendHttp(RequestHeaders(self.stream_id, self.flow.request, True), self.context.server)
            yield SendHttp(RequestEndOfMessage(self.stream_id), self.context.server)
