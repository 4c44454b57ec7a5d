"""WebSocket messages are relayed, bounded and forgotten."""

from __future__ import annotations

from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.websocket import WebsocketEndHook, WebsocketLayer
from wsproto.connection import ConnectionState
from wsproto.events import CloseConnection
from wsproto.frame_protocol import CloseReason

# One message is held until it is whole. Extensions are stripped from handshakes, so what is held is what was sent.
MESSAGE_BYTES = 16 * 1024 * 1024


class BoundedWebsocketLayer(WebsocketLayer):
    """WebsocketLayer that ends the connection with 1009 instead of holding a message of any size."""

    def relay_messages(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As in the base class, until a message outgrows the limit."""
        if isinstance(event, events.DataReceived):
            source = self.client_ws if event.connection == self.context.client else self.server_ws
            if sum(map(len, source.frame_buf)) + len(event.data) > MESSAGE_BYTES:
                yield from self._too_big()
                return
        yield from super().relay_messages(event)

    def _too_big(self) -> layer.CommandGenerator[None]:
        for side in (self.client_ws, self.server_ws):
            if side.state is ConnectionState.OPEN:
                yield side.send2(CloseConnection(code=CloseReason.MESSAGE_TOO_BIG))
            yield commands.CloseConnection(side.conn)
        yield WebsocketEndHook(self.flow)
        self._handle_event = self.done
