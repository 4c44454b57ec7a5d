"""Stricter reading of the HTTP/2 that clients send than mitmproxy's own.

mitmproxy has h2 end the connection, and every request on it, at the first malformed head, without a hook. Here h2 looks at
heads when asked: a malformed one is refused as any other request is, and the connection goes on (RFC 9113 section 8.1.1).
What ends the connection by RFC 9113 section 5.4.1 still does, and the gate hears of it first.
"""

from __future__ import annotations

from h2.config import H2Configuration
from h2.errors import ErrorCodes
from h2.events import Event, RequestReceived, TrailersReceived
from mitmproxy import http
from mitmproxy.proxy import commands, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._http2 import Http2Server

from effectgate.proxy import backlog
from effectgate.proxy.calm import Calm
from effectgate.proxy.head_http2 import Fields, request_fault, trailer_fault
from effectgate.proxy.hpack_plain import PlainEncoder
from effectgate.proxy.malformed import HEADER_BYTES, EffectgateMalformedHook, Malformed

# h2 closes the whole connection at its own limit; ours answers one stream, so h2's is put well above it.
HTTP2_HEADER_BYTES = 4 * HEADER_BYTES

BROKEN_PROTOCOL = "The HTTP/2 connection broke the protocol (RFC 9113) and was closed."
TOO_MUCH = "The HTTP/2 connection sent more frames that ask for nothing than it may, and was closed."


class StrictHttp2Server(Http2Server):
    """Http2Server whose malformed requests the gate answers, stream by stream, and whose floods end."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.h2_conn.config = H2Configuration(
            client_side=False, header_encoding=False, validate_inbound_headers=False, normalize_inbound_headers=False,
            validate_outbound_headers=False, normalize_outbound_headers=False,
        )  # fmt: skip
        self.h2_conn.decoder.max_header_list_size = HTTP2_HEADER_BYTES
        self.h2_conn.local_settings.max_header_list_size = HTTP2_HEADER_BYTES
        self.h2_conn.local_settings.acknowledge()
        self.h2_conn.encoder = PlainEncoder()
        self._calm = Calm()
        backlog.watch(context.client, self.h2_conn)

    def handle_h2_event(self, event: Event) -> layer.CommandGenerator[bool]:
        """As in the base class, for what is well-formed."""
        if not self._calm.bears(event):
            yield from self._tell(429, TOO_MUCH)
            yield from super().protocol_error(TOO_MUCH, ErrorCodes.ENHANCE_YOUR_CALM)
            return True
        if isinstance(event, RequestReceived) and (fault := request_fault(event.headers)):
            yield from self._answer_malformed(event, fault)
            return False
        if isinstance(event, TrailersReceived) and (fault := trailer_fault(event.headers)):
            yield from self._cut_off(event.stream_id, fault)
            return False
        return (yield from super().handle_h2_event(event))

    def protocol_error(self, message: str, error_code: int = ErrorCodes.PROTOCOL_ERROR) -> layer.CommandGenerator[None]:
        """As in the base class; the connection's last words are counted before it ends."""
        yield from self._tell(400, BROKEN_PROTOCOL)
        yield from super().protocol_error(message, error_code)

    def _tell(self, status: int, reason: str) -> layer.CommandGenerator[http.Response | None]:
        malformed = Malformed(self.context.client, status, reason)
        yield EffectgateMalformedHook(malformed)
        return malformed.response

    def _answer_malformed(self, event: RequestReceived, fault: str) -> layer.CommandGenerator[None]:
        # Its stream is not in `self.streams`, so that whatever else comes on it is dropped.
        response = yield from self._tell(400, fault)
        stream = event.stream_id
        if response is not None and self.is_open_for_us(stream):
            head = [(b":status", b"%d" % response.status_code), *_lower(response.headers.fields)]
            self.h2_conn.send_headers(stream, head)
            content = b"" if (b":method", b"HEAD") in event.headers else response.raw_content
            self.h2_conn.send_data(stream, content or b"", end_stream=True)
        if not event.stream_ended:
            self._reset(stream)
        yield commands.SendData(self.conn, self.h2_conn.data_to_send())

    def _cut_off(self, stream: int, fault: str) -> layer.CommandGenerator[None]:
        yield from self._tell(400, fault)
        if self.streams.pop(stream, None) is not None:
            yield ReceiveHttp(self.ReceiveProtocolError(stream, fault, code=self.ReceiveProtocolError.code))
        self._reset(stream)
        yield commands.SendData(self.conn, self.h2_conn.data_to_send())

    def _reset(self, stream: int) -> None:
        if not self.is_closed(stream):
            self.h2_conn.reset_stream(stream, ErrorCodes.PROTOCOL_ERROR)


def _lower(fields: Fields) -> Fields:
    return [(name.lower(), value) for name, value in fields if name.lower() != b"connection"]
