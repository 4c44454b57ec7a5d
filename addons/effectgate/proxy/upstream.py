"""The last choke before a connection leaves, and the watch on its handshake."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from mitmproxy.connection import Client, Server
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from mitmproxy.tls import TlsData

from effectgate.proxy import route
from effectgate.proxy.patience import GiveUp
from effectgate.proxy.session import Sessions


class Upstream:
    """The hooks server_connect, server_connected and tls_start_server."""

    name = "effectgate-upstream"

    def __init__(self, sessions: Sessions, handshake_seconds: float, silent_seconds: float) -> None:
        self._sessions = sessions
        self._seconds = handshake_seconds
        self._silent_seconds = silent_seconds
        self.hang_up: Callable[[Client, Server], None] = lambda client, server: None
        self.tell: Callable[[Client, GiveUp], None] = lambda client, event: None

    def server_connect(self, data: ServerConnectionHookData) -> None:
        """Refuse every connection that no request in flight has leave for; verify origins by the name that was decided on."""
        server = data.server
        if self._sessions.closed or server.transport_protocol != "tcp" or server.via is not None:
            server.error = "the gate lets nothing of this kind through"
            return
        waiting = self._sessions.of(data.client).leave_for(server)
        if not waiting:
            server.error = "no request has leave for this connection"
            return
        assert server.address is not None
        begun = route.begin(server)
        for ticket in waiting:
            ticket.route = ticket.route or begun
        server.sni = server.address[0]

    def server_connected(self, data: ServerConnectionHookData) -> None:
        """Give the origin a limited time for its TLS handshake; mitmproxy would wait ten minutes."""
        if data.server.tls:
            asyncio.get_running_loop().call_later(self._seconds, self._must_have_agreed, data)

    def tls_start_server(self, data: TlsData) -> None:
        """Offer the origin the protocol that this client speaks, so that nothing has to be translated where both can agree."""
        client = data.context.client
        data.conn.alpn_offers = (b"h2", b"http/1.1") if client.alpn == b"h2" else (b"http/1.1",)

    def give_up_waiting(self) -> None:
        """End every request of which nothing has moved for too long; websockets may be silent, mitmproxy ends idle ones."""
        long_ago = time.monotonic() - self._silent_seconds
        for session in self._sessions:
            for ticket in tuple(session.tickets):
                if ticket.moved < long_ago and ticket.status != 101:
                    self.tell(session.client, GiveUp(ticket, ticket.moved))

    def late(self, client: Client, server: Server) -> None:
        """Hang up on an origin that takes too long; what is in flight to it fails with `timeout`."""
        if (session := self._sessions.find(client)) is not None:
            session.late.add(server.address)
            self.hang_up(client, server)

    def _must_have_agreed(self, data: ServerConnectionHookData) -> None:
        if data.server.connected and not data.server.tls_established:
            self.late(data.client, data.server)
