"""The environment that sends a command's clients through the proxy, and the trust files they read (design.md section 7, `run`)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import certifi
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

PRELOAD = Path(__file__).parent / "preload"
# Loopback names only: everything else must pass the proxy.
NO_PROXY = "localhost,127.0.0.1,::1"
# The JDK's own well-known password: a trust store holds nothing secret.
STORE_PASSWORD = "changeit"

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
# Each replaces the roots of its client, so each gets the public ones too. Who reads which: docs/operations.md.
BUNDLE_VARIABLES = (
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "NIX_SSL_CERT_FILE",
    "HTTPLIB2_CA_CERTS",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "npm_config_cafile",
)
# Each adds to the roots of its client.
EXTRA_VARIABLES = ("NODE_EXTRA_CA_CERTS", "DENO_CERT")


@dataclass(frozen=True, slots=True)
class TrustFiles:
    """What clients trust: our CA alone, public roots with our CA (PEM), and the same as PKCS #12 for Java."""

    ca: Path
    bundle: Path
    java: Path


def write_trust_files(ca: Path, directory: Path) -> TrustFiles:
    """Write the bundle and the Java store beside our CA's state; each is replaced whole, so a running client never reads half."""
    roots = Path(certifi.where()).read_bytes()
    own = ca.read_bytes()
    files = TrustFiles(ca, directory / "ca-bundle.pem", directory / "ca-bundle.p12")
    _replace(files.bundle, roots.rstrip() + b"\n" + own)
    with warnings.catch_warnings(action="ignore"):  # one public root has the serial number 0, which RFC 5280 forbids
        certificates = [*x509.load_pem_x509_certificates(roots), *x509.load_pem_x509_certificates(own)]
    entries = [pkcs12.PKCS12Certificate(one, f"root-{place}".encode()) for place, one in enumerate(certificates)]
    encryption = BestAvailableEncryption(STORE_PASSWORD.encode())
    _replace(files.java, pkcs12.serialize_java_truststore(entries, encryption))
    return files


def _replace(file: Path, content: bytes) -> None:
    if file.is_file() and file.suffix == ".pem" and file.read_bytes() == content:
        return
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(file)


def client_environment(proxy_url: str, trust: TrustFiles, inherited: Mapping[str, str]) -> dict[str, str]:
    """The variables to set over `inherited`, whose NODE_OPTIONS and JAVA_TOOL_OPTIONS are kept and added to."""
    variables = dict.fromkeys(PROXY_VARIABLES, proxy_url)
    variables |= dict.fromkeys(BUNDLE_VARIABLES, str(trust.bundle))
    variables |= dict.fromkeys(EXTRA_VARIABLES, str(trust.ca))
    variables |= {
        "NO_PROXY": NO_PROXY,
        "no_proxy": NO_PROXY,
        "CARGO_HTTP_PROXY": proxy_url,
        "NODE_USE_ENV_PROXY": "1",
        "NODE_OPTIONS": _added(inherited, "NODE_OPTIONS", [f'--require="{PRELOAD / "node_proxy.cjs"}"']),
        "JAVA_TOOL_OPTIONS": _added(inherited, "JAVA_TOOL_OPTIONS", _java_options(proxy_url, trust.java)),
    }
    return variables


def _added(inherited: Mapping[str, str], name: str, options: list[str]) -> str:
    return " ".join([*filter(None, [inherited.get(name)]), *options])


def _java_options(proxy_url: str, store: Path) -> list[str]:
    """Without the token: the JVM prints JAVA_TOOL_OPTIONS; the agent reads it from HTTPS_PROXY.

    The JDK refuses Basic for tunnels unless `disabledSchemes` is empty.
    """
    proxy = urlsplit(proxy_url)
    properties = {
        "http.proxyHost": proxy.hostname,
        "http.proxyPort": proxy.port,
        "https.proxyHost": proxy.hostname,
        "https.proxyPort": proxy.port,
        "http.nonProxyHosts": "localhost|127.0.0.1|[::1]",
        "jdk.http.auth.tunneling.disabledSchemes": "",
        "javax.net.ssl.trustStore": store,
        "javax.net.ssl.trustStoreType": "PKCS12",
        "javax.net.ssl.trustStorePassword": STORE_PASSWORD,
    }
    agent = f'"-javaagent:{PRELOAD / "java_proxy.jar"}"'
    return [agent, *(f'"-D{name}={value}"' for name, value in properties.items())]
