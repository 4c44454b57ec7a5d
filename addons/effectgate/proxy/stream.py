"""One request and its response, refused at once where mitmproxy would first read the whole body.

`check_killed` is mitmproxy's own point for stopping a stream right after a hook; every stop of ours is put there, so that
the rest of its state machine stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from mitmproxy import flow as mitmproxy_flow
from mitmproxy import http
from mitmproxy.net.http.validate import validate_headers
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.commands import StartHook
from mitmproxy.proxy.layers.http import HTTPMode, SendHttp, validate_request
from mitmproxy.proxy.layers.http._events import (
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    RequestTrailers,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._hooks import HttpErrorHook, HttpRequestHeadersHook

from effectgate.proxy import reply, route
from effectgate.proxy.failure import Failure, classify
from effectgate.proxy.flow import Admitted, AgentFlow, Holding, Received, Refused
from effectgate.proxy.patience import PatientStream
from effectgate.proxy.ticket import Ticket
from effectgate.proxy.transfer import frame_request
from effectgate.proxy.websocket import BoundedWebsocketLayer


@dataclass
class EffectgateDecideHook(StartHook):
    """Asks the gate to decide now that the body it wanted is here, or is known to be too large."""

    flow: AgentFlow


@dataclass
class EffectgateSlowHook(StartHook):
    """Asks the gate what to answer to a client that does not go on with its body."""

    flow: AgentFlow


@dataclass
class EffectgateClosedHook(StartHook):
    """Tells the gate that request and response are both complete."""

    flow: AgentFlow
    blocking = False


class GatedStream(PatientStream):
    """An HttpStream that goes upstream only with a ticket, and answers a refusal before the body has arrived."""

    flow: AgentFlow

    # -- the request

    def state_wait_for_request_headers(self, event: RequestHeaders) -> layer.CommandGenerator[None]:
        """As in the base class, with a flow that remembers how the request line arrived."""
        data = event.request.data
        received = Received(
            data.scheme, data.authority, event.request.is_http2, self.mode is HTTPMode.transparent, event.end_stream
        )
        self.flow = event.replay_flow = AgentFlow(self.context.client, self.context.server, received)
        if not (received.in_tunnel or data.authority):
            yield from self._to_the_proxy_itself(event.request)
        else:
            yield from super().state_wait_for_request_headers(event)

    def _to_the_proxy_itself(self, request: http.Request) -> layer.CommandGenerator[None]:
        # mitmproxy would take the destination from the Host header.
        self.flow.request = request
        self.flow.request.data.scheme = b"http"
        yield HttpRequestHeadersHook(self.flow)
        if not (yield from super().check_killed(True)):
            stance = self.flow.stance
            yield from self.answer(
                stance.response if isinstance(stance, Refused) else reply.fault("Not a proxy request.")
            )

    def check_invalid(self, request: bool) -> layer.CommandGenerator[bool]:
        """As in the base class; what is invalid is answered in our words, a request with a receipt."""
        if request:
            return (yield from self._check_request())
        assert self.flow.response is not None
        try:
            validate_headers(self.flow.response)
        except ValueError:
            yield commands.CloseConnection(self.flow.server_conn)
            yield from self._fail("Received invalid headers")
            return True
        return False

    def _check_request(self) -> layer.CommandGenerator[bool]:
        if fault := validate_request(self.mode, self.flow.request, True):
            self.flow.error = mitmproxy_flow.Error(fault)
            yield HttpRequestHeadersHook(self.flow)
            stance = self.flow.stance
            yield from self.answer(stance.response if isinstance(stance, Refused) else reply.fault("Deciding failed."))
        return bool(fault)

    def check_killed(self, emit_error_hook: bool) -> layer.CommandGenerator[bool]:
        """As in the base class, and stop here too if a hook failed or the gate has not said ALLOW."""
        if (yield from super().check_killed(emit_error_hook)):
            return True
        if self.flow.stop is not None:
            yield from self.stop(self.flow.stop)
            return True
        if self.client_state == self.state_wait_for_request_headers and self.flow.request.method != "CONNECT":
            return (yield from self._take_stance())
        return False

    def _take_stance(self) -> layer.CommandGenerator[bool]:
        if self.flow.request.http_version == "HTTP/1.0" and self._expects():
            # RFC 9110 section 10.1.1: it is ignored. Such a client would take 100 for the answer.
            self.flow.request.headers.pop("expect")
        match self.flow.stance:
            case Admitted():
                return False
            case Holding():
                yield from self._hold()
            case Refused(response):
                yield from self.answer(response)
            case None:
                yield from self.answer(reply.fault("No decision was made about this request; nothing was sent."))
        return True

    def _expects(self) -> bool:
        return bool(self.flow.request.headers.get("expect", "").lower() == "100-continue")

    def _hold(self) -> layer.CommandGenerator[None]:
        if self._expects():
            # What decides is in the body, which this client sends only now.
            go_on = http.Response.make(100, headers=http.Headers())
            go_on.headers.clear()
            yield SendHttp(ResponseHeaders(self.stream_id, go_on), self.context.client)
            self.flow.request.headers.pop("expect")
        self.client_state = self.state_hold_request_body
        self.server_state = self.state_wait_for_response_headers
        yield from self.watch_body()

    def state_hold_request_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Collect the body that the decision needs; past the limit it is decided without."""
        stance = self.flow.stance
        assert isinstance(stance, Holding)
        if isinstance(event, RequestData):
            self.request_body_buf += event.data
            if len(self.request_body_buf) > stance.limit:
                yield from self._decide(None)
        elif isinstance(event, RequestEndOfMessage):
            self.over = True
            if (yield from self._decide(bytes(self.request_body_buf))):
                yield from self.client_state(event)

    def _decide(self, content: bytes | None) -> layer.CommandGenerator[bool]:
        held = bytes(self.request_body_buf)
        self.request_body_buf.clear()
        self.flow.request.data.content = content
        yield EffectgateDecideHook(self.flow)
        self.flow.request.data.content = None
        self.client_state = self.state_wait_for_request_headers  # so that check_killed looks at the stance
        if (yield from self.check_killed(True)):
            return False
        yield from self.start_request_stream()
        if self.client_state != self.state_stream_request_body:
            return False
        if held:
            yield from self.client_state(RequestData(self.stream_id, held))
        return True

    def state_stream_request_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As in the base class, within its length and the grant's limit, and without trailers: no decision covers their fields."""
        ticket = self.flow.ticket
        if ticket is not None and (fault := self._body_fault(event, ticket)):
            self.flow.failure = Failure(fault)
            yield from self.stop(reply.failed(ticket.answer, self.flow.failure, self.flow.user_agent))
        elif not isinstance(event, RequestTrailers):
            yield from super().state_stream_request_body(event)

    def _body_fault(self, event: events.Event, ticket: Ticket) -> str:
        if isinstance(event, RequestData):
            return "budget" if ticket.exhausted_by(len(event.data)) else ""
        # h2 holds the length against DATA frames only: a body that ends in trailers may be shorter, and an HTTP/1 origin would
        # take what follows on its connection for the rest.
        length = self.flow.request.headers.get("content-length", "")
        short = isinstance(event, RequestEndOfMessage) and length.isdigit() and int(length) != ticket.sent.size
        return "length" if short else ""

    def state_consume_request_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As in the base class, without trailers."""
        if not isinstance(event, RequestTrailers):
            yield from super().state_consume_request_body(event)

    # -- upstream

    def make_server_connection(self) -> layer.CommandGenerator[bool]:
        """As in the base class, but only with a ticket for exactly this request, and with a body framed for its origin."""
        if not self.flow.may_leave:
            yield from self.answer(reply.fault("This request is not the one that was allowed; nothing was sent."))
            return False
        self.upstream = yield from super().make_server_connection()
        if self.upstream and self.flow.ticket is not None:
            self.flow.ticket.route = route.of(self.context.server)
        if self.upstream and self.flow.request.stream:
            frame_request(self.flow.request, http2_origin=self.context.server.alpn == b"h2")
        return self.upstream

    def start_request_stream(self) -> layer.CommandGenerator[None]:
        """As in the base class, which would forget that a refused body is still to be dropped."""
        yield from super().start_request_stream()
        if self.draining:
            self.client_state = self.state_drain
        elif self.client_state == self.state_stream_request_body:
            yield from self.watch_body()

    def too_slow(self) -> layer.CommandGenerator[None]:
        """Refuse a body that was waited for, stop one that was allowed; the origin's answer ends all waiting."""
        if self.begun or self.client_state not in (self.state_hold_request_body, self.state_stream_request_body):
            return
        held = self.client_state == self.state_hold_request_body
        yield EffectgateSlowHook(self.flow)
        if held:
            self.request_body_buf.clear()
            self.client_state = self.state_wait_for_request_headers  # so that check_killed looks at the stance
        yield from self.check_killed(True)

    def start_response_stream(self) -> layer.CommandGenerator[None]:
        """As in the base class, noting that nothing else can be said to the client from here on."""
        self.begun = True
        self.unwatch()
        yield from super().start_response_stream()

    def handle_protocol_error(
        self, event: RequestProtocolError | ResponseProtocolError
    ) -> layer.CommandGenerator[None]:
        """As in the base class; where no response has begun, the client gets ours instead of an HTML page."""
        begun = self.flow.response is not None or self.client_state == self.state_errored
        if self.may_ask_again(event):
            yield from self.ask_again()
        elif isinstance(event, RequestProtocolError) or self.flow.ticket is None or self.draining or begun:
            yield from super().handle_protocol_error(event)
        else:
            yield from self._fail(event.message)

    def _fail(self, message: str) -> layer.CommandGenerator[None]:
        ticket = self.flow.ticket
        assert ticket is not None
        self.flow.error = mitmproxy_flow.Error(message)
        self.flow.failure = classify(message)
        yield HttpErrorHook(self.flow)
        yield from self.answer(reply.failed(ticket.answer, self.flow.failure, self.flow.user_agent))

    def flow_done(self) -> layer.CommandGenerator[None]:
        """As in the base class, with our websocket layer, and telling the gate."""
        if self.flow.websocket is None:
            yield EffectgateClosedHook(self.flow)
            return (yield from super().flow_done())
        self.child_layer = BoundedWebsocketLayer(self.context, self.flow)
        self._handle_event = self.passthrough  # type: ignore[method-assign]
        yield from self.child_layer.handle_event(events.Start())
        yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)
