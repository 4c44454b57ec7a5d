"""TLS on both sides: mitmproxy's own addon, with our CA in front and extra trust anchors behind."""

from __future__ import annotations

from pathlib import Path

import certifi
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.certs import CertStoreEntry
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.tls import HTTP1_ALPNS, HTTP2_ALPN
from mitmproxy.tls import TlsData

from effectgate.policy.authority import parse_host
from effectgate.policy.facts import EnvelopeError
from effectgate.proxy.certs import Authority

# What agents may agree on; mitmproxy would agree on h3, which is not spoken over TCP.
ALPNS = (HTTP2_ALPN, *HTTP1_ALPNS)


class _Store:
    # What TlsConfig reads of a certificate store besides its leaves.
    dhparams = None


class Tls(TlsConfig):
    """TlsConfig whose leaves come from our CA, for the SNI and the CONNECT host."""

    name = "tlsconfig"
    request = None  # type: ignore[assignment]  # mitmproxy would answer its own revocation list on any host

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self.certstore = _Store()  # type: ignore[assignment]

    def configure(self, updated: set[str]) -> None:
        """No store in `confdir`."""

    def running(self) -> None:
        """No store in `confdir`."""

    def tls_start_client(self, tls_start: TlsData) -> None:
        """As in the base class; of what the client offers, the first that we speak, else nothing is agreed on."""
        client = tls_start.conn
        client.alpn = next((offer for offer in client.alpn_offers if offer in ALPNS), b"")
        super().tls_start_client(tls_start)

    def get_cert(self, conn_context: Context) -> CertStoreEntry:
        """A leaf under which the refusal of a foreign SNI can still be read."""
        claimed = (conn_context.client.sni, conn_context.server.address and conn_context.server.address[0])
        names = dict.fromkeys(name for text in claimed if text and (name := _name(text)))
        return self._authority.leaf(tuple(names))


def _name(text: str) -> str:
    try:
        return parse_host(f"[{text}]" if ":" in text else text)
    except EnvelopeError:
        return ""


def trust_bundle(extra: Path, directory: Path) -> Path:
    """A file with the public roots and the anchors in `extra`: mitmproxy takes one file, and it replaces the roots."""
    bundle = directory / "upstream-ca.pem"
    content = Path(certifi.where()).read_bytes() + b"\n" + extra.read_bytes()
    if not bundle.exists() or bundle.read_bytes() != content:
        part = bundle.with_suffix(".part")
        part.write_bytes(content)
        part.rename(bundle)
    return bundle
