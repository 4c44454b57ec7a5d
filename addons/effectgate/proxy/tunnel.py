"""What may flow in a connection: HTTP to the proxy, and TLS or HTTP in a tunnel. Nothing else gets a layer."""

from __future__ import annotations

import asyncio
import re

from mitmproxy import http
from mitmproxy.connection import Client
from mitmproxy.exceptions import AddonHalt
from mitmproxy.net.tls import starts_like_tls_record
from mitmproxy.proxy.commands import CloseConnection
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.events import Event, Start
from mitmproxy.proxy.layer import CommandGenerator, Layer, NextLayer
from mitmproxy.proxy.layers import ClientTLSLayer, ServerTLSLayer, modes
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.tls import ClientHelloData, TlsData

from effectgate.policy.authority import parse_authority
from effectgate.policy.facts import EnvelopeError
from effectgate.proxy.session import Session, Sessions
from effectgate.proxy.settings import ProxySettings
from effectgate.proxy.stream import GatedStream
from effectgate.proxy.tls import ALPNS
from effectgate.proxy.unreadable import Unreadable
from effectgate.proxy.wire import GatedHttpLayer

# A line that names HTTP, or begins as a request of HTTP/0.9 does: no request that may pass, but one that can be answered.
_REQUEST_LINE = re.compile(rb"[^\r\n]+[ \t]HTTP/[^\r\n]*\r?\n|GET [/h][^\r\n]*\r?\n", re.IGNORECASE)
_REQUEST_LINE_BEGINNING = re.compile(rb"[A-Za-z][A-Za-z_-]{0,31}(?: [^\r\n]*\r?)?")
_ALPNS = (None, b"", *ALPNS)

# A ClientHello is a few KiB, with post-quantum key shares and ECH too; mitmproxy would keep and parse again up to 16 MiB.
HELLO_BYTES = 32 * 1024

NOT_HTTP = "The connection speaks neither TLS nor HTTP where one of them must come, and was closed."
SILENT = (
    "The tunnel said nothing, or only the beginning of something, and was closed: a client speaks first, TLS or HTTP."
)
SLOW_HANDSHAKE = "The TLS handshake in the tunnel was not completed in time."
BAD_HANDSHAKE = "The TLS handshake in the tunnel is malformed, or older than TLS 1.2."
# How mitmproxy's messages begin where the handshake failed on our side (layers/tls.py, on_handshake_error).
_REFUSED_HANDSHAKES = ("Cannot parse ClientHello", "Client and mitmproxy cannot agree", "The client may not trust")


class Tunnel:
    """The hooks http_connected, next_layer, tls_clienthello and tls_failed_client."""

    name = "effectgate-tunnel"

    def __init__(self, sessions: Sessions, unreadable: Unreadable, settings: ProxySettings) -> None:
        self._sessions = sessions
        self._unreadable = unreadable
        self._settings = settings

    def http_connected(self, flow: http.HTTPFlow) -> None:
        """Give the tunnel a moment to speak; in SSH and SMTP the server would speak first, and there is none yet."""
        session = self._sessions.of(flow.client_conn)
        asyncio.get_running_loop().call_later(self._settings.first_bytes_seconds, self._must_have_spoken, session)

    def next_layer(self, data: NextLayer) -> None:
        """Choose the next layer, wait, or close. Raises AddonHalt: any other addon's choice would admit DNS and others."""
        context = data.context
        choice = _choose(context, data.data_client())
        if choice == "close":
            self._unreadable.note(context.client, NOT_HTTP)
            data.layer = Closed(context)
        elif choice != "wait":
            self._sessions.of(context.client).spoken |= choice != "proxy"
            if choice == "tls":
                seconds = self._settings.hello_seconds
                asyncio.get_running_loop().call_later(seconds, self._must_have_agreed, context.client)
            data.layer = _make(choice, context)
        raise AddonHalt

    def tls_clienthello(self, data: ClientHelloData) -> None:
        """Hold the SNI against the CONNECT target; a difference refuses every request inside, where the client sees it."""
        data.establish_server_tls_first = data.ignore_connection = False
        session = self._sessions.of(data.context.client)
        session.fault = sni_fault(session, data.client_hello.sni)

    def tls_failed_client(self, data: TlsData) -> None:
        """Note a handshake that the proxy refused; a client that turned away, such as from our CA, was refused nothing."""
        if (data.conn.error or "").startswith(_REFUSED_HANDSHAKES):
            self._unreadable.note(data.context.client, BAD_HANDSHAKE)

    def _must_have_spoken(self, session: Session) -> None:
        if not session.spoken and session.client.connected:
            self._end(session.client, SILENT)

    def _must_have_agreed(self, client: Client) -> None:
        if not client.tls_established and client.connected and not client.error:
            self._end(client, SLOW_HANDSHAKE)

    def _end(self, client: Client, why: str) -> None:
        self._unreadable.note(client, why)
        self._sessions.disconnect(client)


def sni_fault(session: Session, sni: str | None) -> str:
    """Why this SNI does not fit the tunnel, or the empty string. Only an IP literal needs none (RFC 6066 section 3)."""
    assert session.tunnel is not None
    host, port = session.tunnel
    if not sni:
        return "" if _is_literal(host) else f"The TLS handshake names no host (SNI); CONNECT named {host}."
    try:
        same = parse_authority(sni, port).host == host
    except EnvelopeError:
        same = False
    return "" if same else f"The TLS handshake names another host (SNI) than CONNECT, which named {host}."


def _is_literal(host: str) -> bool:
    return ":" in host or host.rpartition(".")[2].isdigit()


def _choose(context: Context, data: bytes) -> str:
    stack = tuple(map(type, context.layers))
    if stack == (modes.HttpProxy,):
        return "proxy" if data else "wait"
    if stack == (modes.HttpProxy, GatedHttpLayer, GatedStream):
        return first_bytes(data)
    if stack == (modes.HttpProxy, GatedHttpLayer, GatedStream, ServerTLSLayer, BoundedClientTLSLayer):
        return "http" if context.client.alpn in _ALPNS else "close"
    return "close"


def first_bytes(data: bytes) -> str:
    """What the first bytes of a tunnel are: `tls`, `http`, `wait` for more, or `close`."""
    if starts_like_tls_record(data):
        return "tls"
    if _REQUEST_LINE.match(data):
        return "http"
    undecided = len(data) < 3 and b"\x16\x03".startswith(data)
    return "wait" if undecided or _REQUEST_LINE_BEGINNING.fullmatch(data) else "close"


def _make(choice: str, context: Context) -> Layer:
    if choice == "tls":
        server_tls = ServerTLSLayer(context)
        server_tls.child_layer = BoundedClientTLSLayer(context)
        return server_tls
    return GatedHttpLayer(context, HTTPMode.regular if choice == "proxy" else HTTPMode.transparent)


class BoundedClientTLSLayer(ClientTLSLayer):
    """ClientTLSLayer that keeps no ClientHello of any size."""

    def receive_handshake_data(self, data: bytes) -> CommandGenerator[tuple[bool, str | None]]:
        """As in the base class, within bounds."""
        if not self.client_hello_parsed and len(self.recv_buffer) + len(data) > HELLO_BYTES:
            return False, "Cannot parse ClientHello: it is too large"
        return (yield from super().receive_handshake_data(data))


class Closed(Layer):
    """Takes whatever comes, and closes."""

    def _handle_event(self, event: Event) -> CommandGenerator[None]:
        if isinstance(event, Start):
            yield CloseConnection(self.context.client)
