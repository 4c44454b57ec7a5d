"""The CA is made once, kept to its owner, and signs what strict clients accept."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from effectgate.proxy import certs
from effectgate.proxy.certs import CertificateError, load_or_create
from effectgate.proxy.tls import trust_bundle

from .harness import origin_context


def test_made_once_by_whoever_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create = certs._create

    def slowly(*files: Path) -> None:
        time.sleep(0.1)  # so that all of them are there before the first has written
        create(*files)

    monkeypatch.setattr(certs, "_create", slowly)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: load_or_create(tmp_path / "certs").certificate.serial_number, range(8)))
    assert len(set(made)) == 1
    assert (tmp_path / "certs" / "ca-key.pem").stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in (tmp_path / "certs").iterdir()) == ["ca-key.pem", "ca.pem"]
    assert b"PRIVATE" not in (tmp_path / "certs" / "ca.pem").read_bytes()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda d: (d / "ca.pem").unlink(), "ca.pem: missing"),
        (lambda d: (d / "ca-key.pem").unlink(), "ca-key.pem: missing"),
        (lambda d: (d / "ca-key.pem").chmod(0o644), "chmod 600"),
        (lambda d: (d / "ca.pem").write_text("nonsense"), "not PEM"),
        (lambda d: (d / "ca.pem").write_bytes(load_and_read(d.parent / "other")), "not the EC key of"),
    ],
)
def test_files_that_cannot_be_used_are_named_with_the_fix(tmp_path: Path, spoil: object, says: str) -> None:
    load_or_create(tmp_path / "certs")
    spoil(tmp_path / "certs")  # type: ignore[operator]
    with pytest.raises(CertificateError, match=says):
        load_or_create(tmp_path / "certs")


def load_and_read(directory: Path) -> bytes:
    load_or_create(directory)
    return (directory / "ca.pem").read_bytes()


@pytest.mark.parametrize("name", ["allowed.test", "127.0.0.1", "::1", "a" * 63 + ".test"])
def test_a_strict_client_accepts_a_leaf(tmp_path: Path, name: str) -> None:
    context = origin_context(tmp_path, name)
    client = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    here, there = socket.socketpair()
    with here, there:
        server = threading.Thread(target=lambda: context.wrap_socket(there, server_side=True).close())
        server.start()
        client.wrap_socket(here, server_hostname=name).close()
        server.join(5)


def test_leaves_are_cached_bounded_and_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certs, "LEAVES", 3)
    authority = load_or_create(tmp_path)
    first = authority.leaf(("a.test",))
    assert isinstance(first.privatekey, ec.EllipticCurvePrivateKey)
    assert authority.leaf(("a.test",)) is first
    for name in ("b", "c", "d"):
        authority.leaf((name,))
    assert authority.leaf(("a.test",)) is not first
    second = authority.leaf(("a.test",))
    late = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=60)
    monkeypatch.setattr(certs, "_now", lambda: late)
    assert authority.leaf(("a.test",)) is not second


def test_extra_anchors_join_the_public_roots(tmp_path: Path) -> None:
    load_or_create(tmp_path)
    bundle = trust_bundle(tmp_path / "ca.pem", tmp_path)
    context = ssl.create_default_context(cafile=str(bundle))
    assert context.cert_store_stats()["x509_ca"] > 50
    assert (tmp_path / "ca.pem").read_bytes() in bundle.read_bytes()
