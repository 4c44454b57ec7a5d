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

from effectgate.proxy.malformed import HEADER_BYTES, EffectgateMalformedHook, Malformed
from effectgate.proxy.patience import GiveUp, PatientStream
from effectgate.proxy.watch import Watch
from effectgate.proxy.wire_http2 import StrictHttp2Server

_BLANK = re.compile(rb"(?:\r\n)+")
# RFC 9112 section 2.2 and RFC 9110 section 5.5: a bare CR, a bare LF, NUL and other controls end or split a line for some
# recipients and not for others; a folded line (RFC 9112 section 5.2) likewise.
_AMBIGUOUS = re.compile(
    rb"(?P<lf>(?<!\r)\n)|(?P<cr>\r(?!\n))|(?P<control>[\x00-\x08\x0b\x0c\x0e-\x1f\x7f])|(?P<fold>\r\n[ \t])"
)
_WHAT = {
    "lf": "a line end without CR",
    "cr": "a CR without LF",
    "control": "a control character",
    "fold": "a folded line",
}


class HeadError(ValueError):
    """The peer sent a head that is refused with `status`; the message is a sentence for it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


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
            self.request = request
            size = http1.expected_http_body_size(request)
            yield ReceiveHttp(RequestHeaders(self.stream_id, request, size == 0))
            self.body_reader = make_body_reader(size)
            self.state = self.read_body
            yield from self.state(event)
        return None

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As in the base class, without its crash on trailers: RFC 9110 section 6.5.1 lets a recipient drop them."""
        try:
            yield from super().read_body(event)
        except NotImplementedError:
            yield ReceiveHttp(self.ReceiveEndOfMessage(self.stream_id))
            yield from self.mark_done(request=True)

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

    def _refuse(self, error: HeadError) -> layer.CommandGenerator[None]:
        malformed = Malformed(self.context.client, error.status, str(error))
        self.state = self.done
        yield EffectgateMalformedHook(malformed)
        if malformed.response is not None:
            malformed.response.headers["connection"] = "close"
            yield commands.SendData(self.conn, http1.assemble_response(malformed.response))
        yield commands.CloseConnection(self.conn)


def check_head(data: bytes) -> None:
    """Raise HeadError if this beginning of a request, which may be incomplete, cannot be read in one way only."""
    end = data.find(b"\r\n\r\n")
    head = data[: end + 4] if end >= 0 else data.rstrip(b"\r")
    if len(head) > HEADER_BYTES:
        raise HeadError(431, f"The request head is larger than {HEADER_BYTES} bytes.")
    if (ambiguous := _AMBIGUOUS.search(head)) is not None:
        raise HeadError(400, f"The request head has {_WHAT[str(ambiguous.lastgroup)]}.")


def parse_head(lines: list[bytes]) -> http.Request:
    """The request of a complete head; raises HeadError."""
    try:
        request = http1.read_request_head(lines)
        http1.expected_http_body_size(request)
    except ValueError:
        raise HeadError(400, "The request head is not valid HTTP/1.1.") from None
    if request.data.http_version not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise HeadError(400, "The HTTP version is neither 1.1 nor 1.0.")
    return request


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
