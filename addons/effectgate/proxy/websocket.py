"""WebSocket messages are relayed, bounded and forgotten."""

from __future__ import annotations

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
