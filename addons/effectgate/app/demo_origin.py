"""A TLS origin on loopback that plays api.github.com for the demo, under a certificate authority of its own."""

from __future__ import annotations

import datetime
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "api.github.com"
LIFETIME = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where it listens, whom to trust for it, and the request lines that reached it."""

    port: int
    trust: Path
    seen: list[str] = field(default_factory=list)


@contextmanager
def playing_origin(directory: Path) -> Iterator[Origin]:
    """Serve inside the block; certificate and key are made in `directory`."""
    trust = _write_certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trust, directory / "origin-key.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    origin = Origin(server.server_port, trust)
    _Handler.seen = origin.seen
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield origin
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[str] = []  # noqa: RUF012 - one demo, one origin

    def do_GET(self) -> None:
        """Answer as the jobs of a run."""
        self.seen.append(self.requestline)
        body = json.dumps({"total_count": 1, "jobs": [{"name": "tests", "conclusion": "failure"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # it must never come: the demo counts what came

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _write_certificate(directory: Path) -> Path:
    """A self-signed certificate for HOST, which is its own trust anchor, and its key (0600)."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Effectgate demo origin")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LIFETIME)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    private = directory / "origin-key.pem"
    private.touch(0o600)
    private.write_bytes(secret)
    public = directory / "origin.pem"
    public.write_bytes(certificate.public_bytes(pem))
    return public
