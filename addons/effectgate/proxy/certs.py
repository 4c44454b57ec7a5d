"""Our certificate authority and the leaves it signs. EC keys throughout: signing one RSA leaf costs more than a decision.

`ca.pem` is what agents trust; `ca-key.pem` (0600) is made once, before any worker starts.
"""

from __future__ import annotations

import datetime
import fcntl
import ipaddress
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from mitmproxy.certs import Cert, CertStoreEntry

CA_DAYS = 3650
LEAF_DAYS = 90
# Sandboxes start with clocks that are behind.
BACKDATED = datetime.timedelta(days=2)
LEAVES = 512


class CertificateError(Exception):
    """The CA's files cannot be used; the message names the file and the fix."""


class Authority:
    """The CA: signs a leaf for any name, and keeps the last LEAVES of them."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate = certificate
        self._key = key
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._leaves: OrderedDict[tuple[str, ...], CertStoreEntry] = OrderedDict()

    def leaf(self, names: tuple[str, ...]) -> CertStoreEntry:
        """A leaf for these hosts and addresses, renewed halfway through its life."""
        entry = self._leaves.get(names)
        if entry is None or entry.cert.notafter - _now() < datetime.timedelta(days=LEAF_DAYS / 2):
            entry = self._leaves[names] = CertStoreEntry(Cert(self._sign(names)), self._leaf_key, None, [])
        self._leaves.move_to_end(names)
        if len(self._leaves) > LEAVES:
            self._leaves.popitem(last=False)
        return entry

    def _sign(self, names: tuple[str, ...]) -> x509.Certificate:
        builder = _builder(_subject(names[0]), self.certificate.subject, self._leaf_key.public_key(), LEAF_DAYS)
        identifier = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        for extension, critical in (
            (x509.SubjectAlternativeName(list(map(_general_name, names))), False),
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_usage(digital_signature=True), True),
            (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
            (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), False),
        ):
            builder = builder.add_extension(extension, critical)
        return builder.sign(self._key, hashes.SHA256())


def load_or_create(directory: Path) -> Authority:
    """The CA in `directory`, made there if there is none. Raises CertificateError, OSError."""
    certificate, key = directory / "ca.pem", directory / "ca-key.pem"
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(directory):
        if not certificate.exists() and not key.exists():
            _create(certificate, key)
        for file, other in ((certificate, key), (key, certificate)):
            if not file.exists():
                raise CertificateError(
                    f"{file}: missing, while {other} exists; restore it, or remove {other} to make a new CA"
                )
    return _load(certificate, key)


def _load(certificate: Path, key: Path) -> Authority:
    if key.stat().st_mode & 0o077:
        raise CertificateError(f"{key}: others may read the CA key; run chmod 600 {key}")
    try:
        ca = x509.load_pem_x509_certificate(certificate.read_bytes())
        private = serialization.load_pem_private_key(key.read_bytes(), None)
    except ValueError as error:
        raise CertificateError(f"{certificate} or {key}: not PEM ({error}); remove both to make a new CA") from None
    if not isinstance(private, ec.EllipticCurvePrivateKey) or private.public_key() != ca.public_key():
        raise CertificateError(f"{key}: not the EC key of {certificate}; remove both to make a new CA")
    if ca.not_valid_after_utc < _now():
        raise CertificateError(f"{certificate}: expired; remove it and {key} to make a new CA")
    return Authority(ca, private)


def _create(certificate: Path, key: Path) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    subject = _subject("Effectgate CA")
    builder = _builder(subject, subject, private.public_key(), CA_DAYS)
    for extension, critical in (
        (x509.BasicConstraints(ca=True, path_length=0), True),
        (_usage(key_cert_sign=True, crl_sign=True), True),
        (x509.SubjectKeyIdentifier.from_public_key(private.public_key()), False),
    ):
        builder = builder.add_extension(extension, critical)
    signed = builder.sign(private, hashes.SHA256())
    pem = serialization.Encoding.PEM
    _write(key, private.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()), 0o600)
    _write(certificate, signed.public_bytes(pem), 0o644)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    begin = _now() - BACKDATED
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=days))
    )


def _subject(name: str) -> x509.Name:
    # RFC 5280 appendix A: a common name has at most 64 characters; clients read the SAN.
    organization = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Effectgate")
    return x509.Name([organization, *([x509.NameAttribute(NameOID.COMMON_NAME, name)] if len(name) <= 64 else [])])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature, key_cert_sign=key_cert_sign, crl_sign=crl_sign, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(file: Path, content: bytes, mode: int) -> None:
    part = file.with_suffix(".part")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as stream:
        stream.write(content)
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())
    part.rename(file)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
