"""HTTP towards origins, with what mitmproxy 12.3.1 lacks and origins do.

It takes an interim response (RFC 9110 section 15.2, such as 103) for the final one, crashes on trailers, passes on whatever a
status line or a field holds, and keeps a head or a chunk extension of any size.
"""

from __future__ import annotations

from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._http1 import Http1Client
from mitmproxy.proxy.layers.http._http2 import Http2Client

from effectgate.proxy import backlog
from effectgate.proxy.hpack_plain import PlainEncoder
from effectgate.proxy.response_head import RESPONSE_HEAD_BYTES, head_fault, is_interim


class PatientHttp1Client(Http1Client):
    """Http1Client that drops interim responses and trailers, and refuses heads that are none."""

    _dropped = 0  # bytes of interim responses before the final one

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        """As in the base class, once a final response has begun."""
        if isinstance(event, events.DataReceived) and self.request is not None:
            self._drop_interim()
            if fault := self._head_fault():
                yield from self._refuse(fault)
                return
        yield from super().read_headers(event)
        if self.state != self.read_headers:
            self._dropped = 0

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As in the base class, without its crash on trailers, and within bounds."""
        if self.response_done:
            # The request is still being sent, and the response to it is over: this belongs to nothing.
            yield commands.CloseConnection(self.conn)
            return
        try:
            yield from super().read_body(event)
        except NotImplementedError:
            assert self.stream_id is not None
            yield ReceiveHttp(self.ReceiveEndOfMessage(self.stream_id))
            yield from self.mark_done(response=True)
        if len(self.buf) > RESPONSE_HEAD_BYTES and self.state == self.read_body:
            yield from self._refuse("a chunk's extension or the trailers are too large")

    def _drop_interim(self) -> None:
        while self._dropped <= RESPONSE_HEAD_BYTES and is_interim(bytes(self.buf)):
            before = len(self.buf)
            if self.buf.maybe_extract_lines() is None:
                return
            self._dropped += before - len(self.buf)

    def _head_fault(self) -> str:
        if self._dropped > RESPONSE_HEAD_BYTES:
            return "there are too many interim responses"
        return head_fault(bytes(self.buf)) if self.buf else ""

    def _refuse(self, fault: str) -> layer.CommandGenerator[None]:
        assert self.stream_id is not None
        self.state = self.done
        yield commands.CloseConnection(self.conn)
        message = f"Cannot parse HTTP response: {fault}"
        yield ReceiveHttp(self.ReceiveProtocolError(self.stream_id, message, self.ReceiveProtocolError.code))


class WatchedHttp2Client(Http2Client):
    """Http2Client whose queue is watched."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.h2_conn.encoder = PlainEncoder()
        backlog.watch(context.server, self.h2_conn)


def install() -> None:
    """Put both in: mitmproxy's HttpClient looks its classes up by these names and offers no other way."""
    setattr(http_layers, "Http2Client", WatchedHttp2Client)  # noqa: B010  (not exported, so not assignable)
    setattr(http_layers, "Http1Client", PatientHttp1Client)  # noqa: B010  (not exported, so not assignable)
