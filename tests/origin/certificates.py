"""A private certificate authority: one root, and a leaf for whatever name a client asks for by SNI."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = timedelta(days=1)
_NO_USE = dict.fromkeys(
    ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"),
    False,
)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


class Authority:
    """The root of the test origins; `pem` is the file a client has to trust."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._issuer = _name("Effectgate test origins")
        self._leaves: dict[tuple[str, tuple[str, ...]], ssl.SSLContext] = {}
        self.pem = directory / "origins.pem"
        self.pem.write_bytes(self._root().public_bytes(serialization.Encoding.PEM))

    def context(self, alpn: Sequence[str]) -> ssl.SSLContext:
        """A server context that answers every SNI with a leaf for that name and offers `alpn`."""
        outer = self._leaf("origin.test", tuple(alpn))
        outer.sni_callback = lambda connection, name, _: self._switch(connection, name, tuple(alpn))
        return outer

    def _switch(self, connection: ssl.SSLObject, name: str | None, alpn: tuple[str, ...]) -> None:
        if name:
            connection.context = self._leaf(name, alpn)

    def _leaf(self, name: str, alpn: tuple[str, ...]) -> ssl.SSLContext:
        if (name, alpn) not in self._leaves:
            self._leaves[name, alpn] = self._mint(name, alpn)
        return self._leaves[name, alpn]

    def _mint(self, name: str, alpn: tuple[str, ...]) -> ssl.SSLContext:
        key = self._leaf_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file = self._directory / f"{name}.pem"
        file.write_bytes(key + self._sign(name).public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        context.set_alpn_protocols(list(alpn))
        return context

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + 7 * _DAY)
        )

    def _root(self) -> x509.Certificate:
        public = self._key.public_key()
        usage = x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, **_NO_USE)
        return (
            self._builder(self._issuer, public)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def _sign(self, name: str) -> x509.Certificate:
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            self._builder(_name(name[:64]), self._leaf_key.public_key())
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(issuer, critical=False)
            .sign(self._key, hashes.SHA256())
        )
