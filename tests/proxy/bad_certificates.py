"""Certificates that must not be believed, each for one reason."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

HOST = "allowed.test"
_DAY = timedelta(days=1)

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True, slots=True)
class Leaf:
    """What differs from a good certificate, and what is said of it.

    Days from now; `names` empty: no SAN; `issuer` is a key of Authority.issuers.
    """

    says: str = ""
    begins: int = -1
    ends: int = 7
    names: tuple[x509.GeneralName, ...] = (x509.DNSName(HOST),)
    common: str = HOST
    usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.SERVER_AUTH
    key: Callable[[], Key] = field(default=lambda: ec.generate_private_key(ec.SECP256R1()))
    issuer: str = "root"
    critical: bool = False  # has a critical extension nobody knows


_OTHER_NAME = "hostname mismatch"

BAD: Mapping[str, Leaf] = {
    "expired": Leaf("certificate has expired", begins=-9, ends=-1),
    "not yet valid": Leaf("certificate is not yet valid", begins=1),
    "for another name": Leaf(_OTHER_NAME, names=(x509.DNSName("evil.test"),)),
    "for a longer name": Leaf(_OTHER_NAME, names=(x509.DNSName("www.allowed.test"),)),
    "for a wildcard below it": Leaf(_OTHER_NAME, names=(x509.DNSName("*.allowed.test"),)),
    "for all of its suffix": Leaf(_OTHER_NAME, names=(x509.DNSName("*.test.evil"),)),
    "with its name in the subject alone": Leaf(_OTHER_NAME, names=()),
    "with its name beside another's SAN": Leaf(_OTHER_NAME, names=(x509.DNSName("evil.test"),), common=HOST),
    "for an address": Leaf(_OTHER_NAME, names=(x509.IPAddress(ipaddress.ip_address("127.0.0.1")),)),
    "for its name as a mail address": Leaf(_OTHER_NAME, names=(x509.RFC822Name("a@allowed.test"),)),
    "for clients": Leaf("unsuitable certificate purpose", usage=ExtendedKeyUsageOID.CLIENT_AUTH),
    "for code": Leaf("unsuitable certificate purpose", usage=ExtendedKeyUsageOID.CODE_SIGNING),
    "with a short RSA key": Leaf("EE certificate key too weak", key=lambda: rsa.generate_private_key(65537, 1024)),
    "with a critical extension nobody knows": Leaf("unhandled critical extension", critical=True),
    "signed by itself": Leaf("self-signed certificate", issuer="itself"),
    "signed by a stranger": Leaf("self-signed certificate in certificate chain", issuer="stranger"),
    "signed by a stranger of the same name": Leaf("certificate signature failure", issuer="namesake"),
    "signed by a certificate that may not sign": Leaf("invalid CA certificate", issuer="leaf"),
    "signed by a certificate that has expired": Leaf("certificate has expired", issuer="expired"),
    "signed by one for other names": Leaf("permitted subtree violation", issuer="constrained"),
}


@dataclass(frozen=True, slots=True)
class Issuer:
    """A key with the certificate that goes with it; `sent` is what the origin shows beside its leaf."""

    key: Key
    certificate: x509.Certificate
    sent: bool = True


class Authority:
    """A root, those below it, and strangers. `pem` is what the proxy trusts."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        root = _root("Effectgate test root")
        self.issuers = {
            "root": root,
            "stranger": _root("Stranger"),
            "namesake": _root("Effectgate test root"),
            "leaf": _below(root, ca=False),
            "expired": _below(root, ca=True, ends=-1),
            "constrained": _below(root, ca=True, permitted="other.test"),
        }
        self.pem = directory / "root.pem"
        self.pem.write_bytes(root.certificate.public_bytes(serialization.Encoding.PEM))

    def context(self, leaf: Leaf) -> ssl.SSLContext:
        """An origin that shows this certificate."""
        key = leaf.key()
        issuer = self.issuers.get(leaf.issuer)
        certificate = _sign(leaf, key, issuer or Issuer(key, _self(key)))
        chain = certificate.public_bytes(serialization.Encoding.PEM)
        if issuer is not None and issuer.sent:
            chain += issuer.certificate.public_bytes(serialization.Encoding.PEM)
        file = self._directory / "leaf.pem"
        file.write_bytes(_pem(key) + chain)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.load_cert_chain(file)
        return context


def _pem(key: Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _builder(subject: str, issuer: str, key: Key, begins: int = -20, ends: int = 20) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in (subject, issuer)]
    return (
        x509.CertificateBuilder().subject_name(names[0]).issuer_name(names[1]).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins * _DAY).not_valid_after(now + ends * _DAY)
    )  # fmt: skip


def _root(name: str) -> Issuer:
    key = ec.generate_private_key(ec.SECP256R1())
    made = _builder(name, name, key).add_extension(x509.BasicConstraints(True, None), critical=True)
    return Issuer(key, made.sign(key, hashes.SHA256()), sent=name == "Stranger")


def _below(root: Issuer, *, ca: bool, ends: int = 20, permitted: str = "") -> Issuer:
    key = ec.generate_private_key(ec.SECP256R1())
    made = _builder("Below", "Effectgate test root", key, ends=ends)
    made = made.add_extension(x509.BasicConstraints(ca, None), critical=True)
    if permitted:
        made = made.add_extension(x509.NameConstraints([x509.DNSName(permitted)], None), critical=True)
    return Issuer(key, made.sign(root.key, hashes.SHA256()))


def _self(key: Key) -> x509.Certificate:
    return _builder(HOST, HOST, key).sign(key, hashes.SHA256())


def _sign(leaf: Leaf, key: Key, issuer: Issuer) -> x509.Certificate:
    issued_by = issuer.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    made = _builder(leaf.common, str(issued_by), key, leaf.begins, leaf.ends)
    made = made.add_extension(x509.BasicConstraints(False, None), critical=True)
    made = made.add_extension(x509.ExtendedKeyUsage([leaf.usage]), critical=False)
    if leaf.names:
        made = made.add_extension(x509.SubjectAlternativeName(leaf.names), critical=False)
    if leaf.critical:
        made = made.add_extension(
            x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.9999.1"), b"\5\0"), critical=True
        )
    return made.sign(issuer.key, hashes.SHA256())
