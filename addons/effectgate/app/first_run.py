"""What the first start makes: the state directory, and a demo agent where there is no grants file (design.md section 6)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from effectgate.config import Settings
from effectgate.identity import new_token
from effectgate.receipts.store_file import private_directory
from effectgate.setting_values import Address

DEMO_AGENT = "demo"
DEMO_URL = "demo.url"
DEMO_DAYS = 90
DEMO_GRANTS = """\
# Made by the first start of ./run_proxy.sh. The token of `{agent}` stands in {url} alone; here is its hash.
# What may stand here: docs/grants.md. `effectgate grant check` checks it, `effectgate packs list` lists the effects.
version: 1
agents:
  - name: {agent}
    token: "sha256:{digest}"
    ceiling: read-only
    effects:
{effects}
    expires: {expires}
"""
DEMO_EFFECTS = (
    "web/package-registry-pypi",
    "web/package-registry-npm",
    "github/read-repository",
    "github/read-ci-logs",
    "git/fetch",
)


@dataclass(frozen=True, slots=True)
class FirstRun:
    """`url_file` holds the demo agent's proxy URL, if there is one; `made` says that this start made it."""

    url_file: Path | None
    made: bool


def prepare(settings: Settings) -> FirstRun:
    """Make what is missing. Raises StoreError where `state:` cannot be private, OSError."""
    private_directory(settings.state)
    url_file = settings.state / DEMO_URL
    if not settings.grants.exists():
        _make_demo(settings, url_file)
        return FirstRun(url_file, True)
    if not url_file.is_file():
        return FirstRun(None, False)
    _follow_listener(settings, url_file)
    return FirstRun(url_file, False)


def _make_demo(settings: Settings, url_file: Path) -> None:
    token, digest = new_token()
    text = DEMO_GRANTS.format(
        agent=DEMO_AGENT,
        url=url_file,
        digest=digest,
        effects="\n".join(f"      - {effect}" for effect in DEMO_EFFECTS),
        expires=(datetime.now(UTC) + timedelta(days=DEMO_DAYS)).strftime("%Y-%m-%dT00:00:00Z"),
    )
    write_private(url_file, proxy_url(settings.listen, DEMO_AGENT, token) + "\n")
    write_private(settings.grants, text)


def _follow_listener(settings: Settings, url_file: Path) -> None:
    """`listen:` may have changed since: the token stays, the address follows."""
    written = urlsplit(url_file.read_text().strip())
    url = proxy_url(settings.listen, written.username or DEMO_AGENT, written.password or "")
    if url != written.geturl():
        write_private(url_file, url + "\n")


def proxy_url(listen: Address, name: str, token: str) -> str:
    """An agent's proxy URL; an unspecified listener is reached on loopback."""
    return f"http://{name}:{token}@{reachable(listen)}"


def reachable(listen: Address) -> Address:
    """Where clients on this machine reach a listener."""
    return Address({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listen.host, listen.host), listen.port)


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        stream.write(text)
    draft.replace(file)


def make_keys(settings: Settings) -> None:
    """Make the CA and the keys of receipts where they are missing. Raises CertificateError, StoreError, TrustError."""
    from effectgate.proxy import certs
    from effectgate.receipts.store_keys import installation_key, publish, signing_key

    certs.load_or_create(settings.certs)
    installation_key(settings.state)
    publish(settings.certs / "receipt-trust.json", signing_key(settings.state))
