"""WebSocket: a handshake is one that both sides take for one; messages are relayed, bounded and forgotten."""

from __future__ import annotations

import base64
import binascii
import hashlib

from mitmproxy import http
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.websocket import WebsocketEndHook, WebsocketLayer
from wsproto.connection import ConnectionState
from wsproto.events import CloseConnection
from wsproto.frame_protocol import CloseReason

from effectgate.proxy.flow import AgentFlow

# One message is held until it is whole. Extensions are stripped from handshakes, so what is held is what was sent.
MESSAGE_BYTES = 16 * 1024 * 1024


# An empty fragment costs its sender two bytes, and us a place in a list.
FRAGMENT_BYTES = 64
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3


def handshake_fault(request: http.Request) -> str:
    """Why this request, which asks for a websocket, is no handshake (RFC 6455 section 4.2.1); or the empty string."""
    if request.headers.get_all("sec-websocket-version") != ["13"]:
        return "A websocket handshake says Sec-WebSocket-Version: 13."
    keys = request.headers.get_all("sec-websocket-key")
    if len(keys) != 1 or not _is_key(keys[0]):
        return "A websocket handshake has one Sec-WebSocket-Key, of 16 bytes in base64."
    return ""


def accepts(request: http.Request, response: http.Response) -> bool:
    """Whether a 101 answers exactly this handshake (RFC 6455 section 4.2.2), and agrees on no extension."""
    key = request.headers.get("sec-websocket-key", "").encode("latin-1")
    expected = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest()).decode()
    headers = response.headers
    return (
        [value.lower() for value in headers.get_all("upgrade")] == ["websocket"]
        and headers.get_all("sec-websocket-accept") == [expected]
        and "sec-websocket-extensions" not in headers
    )


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == 16
    except (binascii.Error, ValueError):
        return False


class BoundedWebsocketLayer(WebsocketLayer):
    """WebsocketLayer that ends the conversation where a message outgrows what is held, or the grant's limit of uploads."""

    flow: AgentFlow

    def relay_messages(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As in the base class, within both limits."""
        if isinstance(event, events.DataReceived):
            source = self.client_ws if event.connection == self.context.client else self.server_ws
            held = sum(map(len, source.frame_buf)) + FRAGMENT_BYTES * len(source.frame_buf)
            if held + len(event.data) > MESSAGE_BYTES:
                yield from self._end(CloseReason.MESSAGE_TOO_BIG)
                return
        yield from super().relay_messages(event)
        if self.flow.ticket is not None and self.flow.ticket.error == "budget" and self._handle_event != self.done:
            yield from self._end(CloseReason.POLICY_VIOLATION)

    def _end(self, code: CloseReason) -> layer.CommandGenerator[None]:
        for side in (self.client_ws, self.server_ws):
            if side.state is ConnectionState.OPEN:
                yield side.send2(CloseConnection(code=code))
            yield commands.CloseConnection(side.conn)
        yield WebsocketEndHook(self.flow)
        self._handle_event = self.done
