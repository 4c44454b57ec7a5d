"""How a case reaches the proxy before its own bytes begin: absolute-form, a tunnel, TLS in it, an older HTTP, a handshake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from live.ask import HANDSHAKE
from proxy.client import Reply, Wire

SECONDS = 5.0  # an answer or a close takes no longer (issue 3)


@dataclass(frozen=True, slots=True)
class Transport:
    """`tunnel` is the port that CONNECT asks for, 0 without one; `alpn` is what TLS in it offers, empty without TLS."""

    name: str
    tunnel: int = 0
    alpn: tuple[str, ...] = ()
    version: str = "HTTP/1.1"
    absolute: bool = False
    handshake: bool = False

    def more(self, credential: str) -> str:
        """The fields that a request over this transport needs: its credential, and those of a websocket handshake."""
        fields = [] if self.tunnel or not credential else [("Proxy-Authorization", credential)]
        return "".join(f"{name}: {value}\r\n" for name, value in [*fields, *(HANDSHAKE if self.handshake else ())])


_H1 = ("http/1.1",)
TRANSPORTS: Mapping[str, Transport] = {
    transport.name: transport
    for transport in (
        Transport("proxy"),  # nothing is prepared: the row writes all there is, CONNECT included
        Transport("http", absolute=True),
        Transport("http/1.0", absolute=True, version="HTTP/1.0"),
        Transport("http-websocket", absolute=True, handshake=True),
        Transport("connect", 80),
        Transport("connect/1.0", 80, version="HTTP/1.0"),
        Transport("connect-websocket", 80, handshake=True),
        Transport("https", 443, _H1),
        Transport("https/1.0", 443, _H1, version="HTTP/1.0"),
        Transport("websocket", 443, _H1, handshake=True),
        Transport("https/2", 443, ("h2",)),
        Transport("tunnel", 443),  # bytes in a tunnel to 443 that need not be TLS
    )
}


class TunnelError(Exception):
    """The CONNECT or the handshake that comes before a case failed; the case itself was not played."""


@dataclass(frozen=True, slots=True)
class Way:
    """Where the proxy is, whom a client says it is, and the CA it trusts."""

    address: tuple[str, int]
    credential: str
    ca: Path

    def open(self, transport: Transport, host: str, *, connect: str = "", sni: str = "") -> Wire:
        """A connection on which a case may begin. Raises TunnelError, OSError."""
        wire = Wire(self.address, SECONDS)
        try:
            if transport.tunnel:
                self._tunnel(wire, connect or f"{host}:{transport.tunnel}")
            if transport.alpn:
                wire.tls(self.ca, sni or host, transport.alpn)
        except BaseException:
            wire.__exit__()
            raise
        return wire

    def _tunnel(self, wire: Wire, target: str) -> None:
        answer: Reply = wire.connect(target, f"Proxy-Authorization: {self.credential}\r\n")
        if answer.status != 200:
            raise TunnelError(f"CONNECT {target} was answered {answer.status}: {answer.body.decode(errors='replace')}")
