"""Stricter reading of what clients send than mitmproxy's own, and the HTTP layer that puts it in.

Where mitmproxy answers a head it cannot read by itself, without a hook, these ask the gate, so that the refusal is counted,
receipted where the connection has a principal, and worded like every other.
"""

from __future__ import annotations

import re

from mitmproxy import http
from mitmproxy.net.http import http1
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import RequestHeaders
from mitmproxy.proxy.layers.http._http1 import Http1Server, make_body_reader

from effectgate.proxy.chunks import ChunkError, StrictChunkedReader, check_chunks
from effectgate.proxy.credential import credential_of
from effectgate.proxy.head_http1 import HeadError, check_head, parse_head
from effectgate.proxy.malformed import EffectgateMalformedHook, Malformed
from effectgate.proxy.patience import GiveUp, PatientStream
from effectgate.proxy.watch import Watch
from effectgate.proxy.wire_http2 import StrictHttp2Server

_BLANK = re.compile(rb"(?:\r\n)+")


class StrictHttp1Server(Http1Server):
    """Http1Server that refuses heads which two readers could take for different requests, and heads without end."""

    watch: Watch | None = None  # over a head that has begun

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.Wakeup):
            yield from self._woken(event.command)
        else:
            yield from super()._handle_event(event)

    def _woken(self, command: commands.RequestWakeup) -> layer.CommandGenerator[None]:
        if command is self.watch:
            self.watch = None
            if command.slow and self.state == self.read_headers:
                yield from self._refuse(HeadError(408, "The request head did not arrive whole in time."))

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        """Read one head, looked at as bytes before it is parsed."""
        if not isinstance(event, events.DataReceived):
            return (yield from super().read_headers(event))
        try:
            request = self._next_request()
        except HeadError as error:
            return (yield from self._refuse(error))
        if request is None:
            if self.buf and self.watch is None:
                self.watch = Watch("head")
                yield self.watch
        else:
            self._head_is_here()
            yield from self._begin(request, event)
        return None

    def _begin(self, request: http.Request, event: events.Event) -> layer.CommandGenerator[None]:
        size = http1.expected_http_body_size(request)
        if size is None:
            try:
                check_chunks(bytes(self.buf))  # what is wrong already must not wait until the head has been decided on
            except ChunkError as error:
                return (yield from self._refuse(HeadError(400, str(error), credential_of(request)), request))
        self.request = request
        yield ReceiveHttp(RequestHeaders(self.stream_id, request, size == 0))
        self.body_reader = StrictChunkedReader() if size is None else make_body_reader(size)  # type: ignore[assignment]
        self.state = self.read_body
        yield from self.state(event)

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As in the base class; a bad chunk is answered, where no response has begun, and ends the connection."""
        try:
            yield from super().read_body(event)
        except ChunkError as error:
            begun = self.response is not None
            yield from self._end() if begun else self._refuse(HeadError(400, str(error)), self.request)
            yield ReceiveHttp(
                self.ReceiveProtocolError(self.stream_id, str(error), code=self.ReceiveProtocolError.code)
            )

    def _head_is_here(self) -> None:
        if self.watch is not None:
            self.watch.end()
            self.watch = None

    def _next_request(self) -> http.Request | None:
        data = bytes(self.buf)
        if blank := _BLANK.match(data):
            self.buf.maybe_extract_at_most(blank.end())
        check_head(data[blank.end() if blank else 0 :])
        lines = self.buf.maybe_extract_lines()
        return parse_head([bytes(line) for line in lines]) if lines else None

    def _refuse(self, error: HeadError, request: http.Request | None = None) -> layer.CommandGenerator[None]:
        malformed = Malformed(self.context.client, error.status, str(error), error.credential, request)
        self.state = self.done
        yield EffectgateMalformedHook(malformed)
        if malformed.response is not None:
            self.response = malformed.response
            malformed.response.headers["connection"] = "close"
            yield commands.SendData(self.conn, http1.assemble_response(malformed.response))
        yield from self._end()

    def _end(self) -> layer.CommandGenerator[None]:
        self.state = self.done
        yield commands.CloseConnection(self.conn)


class GatedHttpLayer(HttpLayer):
    """An HttpLayer whose client side is strict and whose streams ask the gate."""

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, GiveUp):
            yield from self._give_up(event)
            return
        if isinstance(event, events.Start):
            server = StrictHttp2Server if self.context.client.alpn == b"h2" else StrictHttp1Server
            self.connections[self.context.client] = server(self.context.fork())
        yield from super()._handle_event(event)

    def _give_up(self, event: GiveUp) -> layer.CommandGenerator[None]:
        for stream in tuple(self.streams.values()):
            if isinstance(stream, PatientStream) and stream.waits_for(event.ticket):
                yield from self.event_to_child(stream, event)

    def make_stream(self, stream_id: int) -> layer.CommandGenerator[None]:
        """As in the base class, with our stream."""
        from effectgate.proxy.stream import GatedStream

        self.streams[stream_id] = GatedStream(self.context.fork(), stream_id)
        yield from self.event_to_child(self.streams[stream_id], events.Start())

    @property
    def in_tunnel(self) -> bool:
        """Whether this layer reads what came after a CONNECT."""
        return self.mode is HTTPMode.transparent
