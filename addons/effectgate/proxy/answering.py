"""A stream that can answer by itself, at any point, before the request has been read."""

from __future__ import annotations

from mitmproxy import flow as mitmproxy_flow
from mitmproxy import http
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.http import DropStream, HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestEndOfMessage,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._hooks import HttpErrorHook

from effectgate.proxy.flow import AgentFlow
from effectgate.proxy.watch import Watch

# How long the rest of a body is read and dropped after its request has been answered.
LINGER_SECONDS = 5.0


class AnsweringStream(HttpStream):
    """An HttpStream with answers of its own. mitmproxy sends those only after it has read the whole body."""

    flow: AgentFlow
    over: bool = False  # the request has been read to its end
    draining: bool = False  # an answer of ours has been sent and the rest of the request is dropped
    upstream: bool = False  # a server connection carries this request
    begun: bool = False  # the origin's response has begun to go to the client
    watch: Watch | None = None  # over a request body that nobody has answered yet
    taken: int = 0  # bytes of that body

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.Wakeup):
            yield from self._woken(event.command)
            return
        if isinstance(event, RequestData):
            self.taken += len(event.data)
        elif isinstance(event, RequestEndOfMessage):
            self.unwatch()
        yield from super()._handle_event(event)

    def passthrough(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As in the base class; a watch of this stream's own says nothing to the layer inside."""
        if not isinstance(event, events.Wakeup) or event.command is not self.watch:
            yield from super().passthrough(event)

    def watch_body(self) -> layer.CommandGenerator[None]:
        """From here on the client has to go on with its body."""
        if self.watch is None and not self.over:
            self.watch = Watch("body", lambda: self.taken)
            yield self.watch

    def unwatch(self) -> None:
        """The body is here, or nobody waits for it any more."""
        if self.watch is not None:
            self.watch.end()
            self.watch = None

    def too_slow(self) -> layer.CommandGenerator[None]:
        """The client does not go on with its body."""
        raise NotImplementedError

    def _woken(self, command: commands.RequestWakeup) -> layer.CommandGenerator[None]:
        if not isinstance(command, Watch):
            yield from self._stop_draining()
        elif command is self.watch:
            self.watch = None
            if command.slow and self.taken == command.mark:
                yield from self.too_slow()
            elif command.slow:  # more of it has come while this stream waited for something itself
                yield from self.watch_body()

    def answer(self, response: http.Response) -> layer.CommandGenerator[None]:
        """Send a response of ours now. What is left of the request body is read and dropped for a while.

        Closing at once would let the kernel reset the connection, and the client would lose the answer that lies unread.
        """
        self.unwatch()
        over = self.over or self.client_state == self.state_done
        whole = over or self.flow.received.end_stream
        if (not whole or self.flow.error) and not self.flow.request.is_http2:
            response.headers["connection"] = "close"
        self.flow.response = response
        self.draining = True
        self.client_state = self.state_drain
        self.server_state = self.state_errored
        content = b"" if self.flow.request.method == "HEAD" else response.raw_content
        yield SendHttp(ResponseHeaders(self.stream_id, response, not content), self.context.client)
        if content:
            yield SendHttp(ResponseData(self.stream_id, content), self.context.client)
        yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)
        self.flow.live = False
        if over:
            yield from self._drop()
        elif not whole:
            yield commands.RequestWakeup(LINGER_SECONDS)

    def state_drain(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Drop what is left of a request that has been answered."""
        if isinstance(event, RequestEndOfMessage):
            yield from self._drop()

    def stop(self, response: http.Response) -> layer.CommandGenerator[None]:
        """End the request on both sides: with this response if none has begun, else by cutting the client's off."""
        self.flow.error = self.flow.error or mitmproxy_flow.Error("stopped")
        yield HttpErrorHook(self.flow)
        self.flow.stop = None
        if self.upstream:
            yield SendHttp(RequestProtocolError(self.stream_id, "", ErrorCode.CANCEL), self.context.server)
        if not self.begun:
            return (yield from self.answer(response))
        yield SendHttp(ResponseProtocolError(self.stream_id, "", ErrorCode.KILL), self.context.client)
        yield from self._drop()

    def _stop_draining(self) -> layer.CommandGenerator[None]:
        if self.draining:
            if self.flow.request.is_http2:
                # The answer has ended its half of the stream by now; this only ends the other.
                yield SendHttp(ResponseProtocolError(self.stream_id, "", ErrorCode.CANCEL), self.context.client)
            else:
                yield commands.CloseConnection(self.context.client)
            yield from self._drop()

    def _drop(self) -> layer.CommandGenerator[None]:
        self.unwatch()
        self.draining = False
        self.client_state = self.server_state = self.state_errored
        yield DropStream(self.stream_id)
