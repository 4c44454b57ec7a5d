"""HTTP towards origins, with what mitmproxy 12.3.1 lacks and origins do.

It takes an interim response (RFC 9110 section 15.2, such as 103) for the final one, and crashes on trailers.
"""

from __future__ import annotations

import re

from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import http as http_layers
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._http1 import Http1Client
from mitmproxy.proxy.layers.http._http2 import Http2Client

from effectgate.proxy import backlog

# An origin that never ends its head would fill memory.
RESPONSE_HEAD_BYTES = 256 * 1024

_INTERIM = re.compile(rb"HTTP/1\.[01] 1(?!01)[0-9][0-9][ \r]")


class PatientHttp1Client(Http1Client):
    """Http1Client that drops interim responses and trailers, and limits the head."""

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        """As in the base class, once a final response has begun."""
        if isinstance(event, events.DataReceived) and self.request is not None:
            while _INTERIM.match(bytes(self.buf)):
                if self.buf.maybe_extract_lines() is None:
                    break
            if len(self.buf) > RESPONSE_HEAD_BYTES and b"\r\n\r\n" not in bytes(self.buf):
                yield from self._too_large()
                return
        yield from super().read_headers(event)

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As in the base class, without its crash on trailers."""
        try:
            yield from super().read_body(event)
        except NotImplementedError:
            assert self.stream_id is not None
            yield ReceiveHttp(self.ReceiveEndOfMessage(self.stream_id))
            yield from self.mark_done(response=True)

    def _too_large(self) -> layer.CommandGenerator[None]:
        assert self.stream_id is not None
        yield commands.CloseConnection(self.conn)
        message = "Cannot parse HTTP response: the head is too large"
        yield ReceiveHttp(self.ReceiveProtocolError(self.stream_id, message, self.ReceiveProtocolError.code))


class WatchedHttp2Client(Http2Client):
    """Http2Client whose queue is watched."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        backlog.watch(context.server, self.h2_conn)


def install() -> None:
    """Put both in: mitmproxy's HttpClient looks its classes up by these names and offers no other way."""
    setattr(http_layers, "Http2Client", WatchedHttp2Client)  # noqa: B010  (not exported, so not assignable)
    setattr(http_layers, "Http1Client", PatientHttp1Client)  # noqa: B010  (not exported, so not assignable)
