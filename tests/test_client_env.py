"""The environment of `effectgate run`; that each client follows it is for tests/live/test_run.py."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import certifi
import pytest
from cryptography.hazmat.primitives.serialization import pkcs12

from effectgate.client_env import (
    BUNDLE_VARIABLES,
    EXTRA_VARIABLES,
    PRELOAD,
    PROXY_VARIABLES,
    STORE_PASSWORD,
    TrustFiles,
    client_environment,
    write_trust_files,
)
from effectgate.proxy.certs import load_or_create

URL = "http://ci-fixer:s3cret@127.0.0.1:8080"


@pytest.fixture
def trust(tmp_path: Path) -> TrustFiles:
    load_or_create(tmp_path)
    return write_trust_files(tmp_path / "ca.pem", tmp_path)


def test_bundles_hold_the_public_roots_and_our_ca(trust: TrustFiles) -> None:
    bundle = trust.bundle.read_bytes()
    assert bundle.startswith(Path(certifi.where()).read_bytes().rstrip())
    assert bundle.endswith(trust.ca.read_bytes())
    with pytest.warns(match="serial number"):
        store = pkcs12.load_pkcs12(trust.java.read_bytes(), STORE_PASSWORD.encode())
    assert len(store.additional_certs) == bundle.count(b"BEGIN CERTIFICATE")


def test_every_client_is_told(trust: TrustFiles) -> None:
    told = client_environment(URL, trust, {})
    assert {told[name] for name in PROXY_VARIABLES} == {URL}
    assert {told[name] for name in BUNDLE_VARIABLES} == {str(trust.bundle)}
    assert {told[name] for name in EXTRA_VARIABLES} == {str(trust.ca)}
    assert told["NO_PROXY"] == told["no_proxy"] == "localhost,127.0.0.1,::1"


def test_options_of_the_caller_are_kept_and_the_token_is_not_printed(trust: TrustFiles) -> None:
    told = client_environment(URL, trust, {"NODE_OPTIONS": "--no-warnings", "JAVA_TOOL_OPTIONS": "-Xmx64m"})
    assert told["NODE_OPTIONS"].startswith("--no-warnings --require=")
    assert told["JAVA_TOOL_OPTIONS"].startswith("-Xmx64m ")
    assert "s3cret" not in told["JAVA_TOOL_OPTIONS"] + told["NODE_OPTIONS"]


def test_an_unchanged_bundle_is_not_written_again(trust: TrustFiles) -> None:
    before = trust.bundle.stat().st_mtime_ns
    write_trust_files(trust.ca, trust.bundle.parent)
    assert trust.bundle.stat().st_mtime_ns == before
    assert not [file for file in trust.bundle.parent.iterdir() if file.name.startswith(".")]


@pytest.mark.needs("javac")
def test_the_source_of_the_committed_jar_compiles_to_its_like(tmp_path: Path) -> None:
    """Not byte for byte: compilers differ. The class version (Java 8) and the manifest must be the same."""
    subprocess.run([PRELOAD / "build_java_proxy.sh", tmp_path / "built.jar"], check=True, timeout=100)
    for jar, place in ((PRELOAD / "java_proxy.jar", tmp_path / "a"), (tmp_path / "built.jar", tmp_path / "b")):
        shutil.unpack_archive(jar, place, "zip")
    committed, built = ((tmp_path / place / "ProxyLogin.class").read_bytes() for place in "ab")
    assert committed[:8] == built[:8] == b"\xca\xfe\xba\xbe\x00\x00\x00\x34"
    assert "Premain-Class: ProxyLogin" in (tmp_path / "a/META-INF/MANIFEST.MF").read_text()
