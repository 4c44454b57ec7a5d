"""WebSocket: a handshake is one that both sides take for one; messages are relayed, bounded and forgotten."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Generator

from mitmproxy import http
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.websocket import WebsocketConnection, WebsocketEndHook, WebsocketLayer
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.events import CloseConnection, Event, Ping, Pong
from wsproto.frame_protocol import CloseReason

from effectgate.proxy.flow import AgentFlow
from effectgate.proxy.ticket import Ticket

# One message is held until it is whole. Extensions are stripped from handshakes, so what is held is what was sent.
MESSAGE_BYTES = 16 * 1024 * 1024


# An empty fragment costs its sender two bytes, and us a place in a list.
FRAGMENT_BYTES = 64
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3


def handshake_fault(request: http.Request) -> str:
    """Why this request, which asks for a websocket, is no handshake (RFC 6455 section 4.2.1); or the empty string."""
    if request.data.method != b"GET" or request.data.http_version != b"HTTP/1.1":
        return "A websocket handshake is an HTTP/1.1 GET without a body."
    tokens = ",".join(request.headers.get_all("connection")).lower().split(",")
    if "upgrade" not in [token.strip() for token in tokens]:
        return "A websocket handshake says Connection: Upgrade."
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


class CountedConnection(WebsocketConnection):
    """One side, whose control frames are counted, hashed and limited like messages: mitmproxy relays them without a hook."""

    ticket: Ticket | None

    def events(self) -> Generator[Event, None, None]:
        """As in the base class, without the pings and pongs that may not pass; such a close says no more than 1008."""
        up = not self.client  # wsproto's client is our side of the connection to the origin
        for event in super().events():
            if isinstance(event, (Ping, Pong)):
                if self._passes(bytes(event.payload), up=up):
                    yield event
            elif isinstance(event, CloseConnection) and event.reason and not self._passes(event.reason.encode(), up=up):
                yield CloseConnection(code=CloseReason.POLICY_VIOLATION)
            else:
                yield event

    def _passes(self, content: bytes, *, up: bool) -> bool:
        return self.ticket is not None and self.ticket.passes(content, up=up)


class BoundedWebsocketLayer(WebsocketLayer):
    """WebsocketLayer that ends the conversation where a message outgrows what is held, or the grant's limit of uploads."""

    flow: AgentFlow
    client_ws: CountedConnection
    server_ws: CountedConnection

    def start(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As in the base class, with sides that count."""
        yield from super().start(event)
        self.client_ws = CountedConnection(ConnectionType.SERVER, conn=self.context.client)
        self.server_ws = CountedConnection(ConnectionType.CLIENT, conn=self.context.server)
        self.client_ws.ticket = self.server_ws.ticket = self.flow.ticket

    _handle_event = start

    def relay_messages(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As in the base class, within both limits."""
        if isinstance(event, events.DataReceived) and self._outgrown(event, len(event.data)):
            yield from self._end(CloseReason.MESSAGE_TOO_BIG)
            return
        for command in super().relay_messages(event):
            if not isinstance(command, commands.Log):  # they tell the payloads of pings
                yield command
        if self._handle_event == self.done:
            return
        if self.flow.ticket is not None and self.flow.ticket.error == "budget":
            yield from self._end(CloseReason.POLICY_VIOLATION)
        elif isinstance(event, events.DataReceived) and self._outgrown(event, 0):  # many small fragments at once
            yield from self._end(CloseReason.MESSAGE_TOO_BIG)

    def _outgrown(self, event: events.DataReceived, size: int) -> bool:
        source = self.client_ws if event.connection == self.context.client else self.server_ws
        held = sum(map(len, source.frame_buf)) + FRAGMENT_BYTES * len(source.frame_buf)
        return held + size > MESSAGE_BYTES

    def _end(self, code: CloseReason) -> layer.CommandGenerator[None]:
        for side in (self.client_ws, self.server_ws):
            if side.state is ConnectionState.OPEN:
                yield side.send2(CloseConnection(code=code))
            yield commands.CloseConnection(side.conn)
        yield WebsocketEndHook(self.flow)
        self._handle_event = self.done  # type: ignore[method-assign]
