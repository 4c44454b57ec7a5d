"""`effectgate doctor`: what is wrong with this installation, and the fix."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from cryptography import x509

from effectgate.app.reading import Policy, read_grants, read_policy
from effectgate.config import Settings, deciding, load_settings
from effectgate.exposure import exposures
from effectgate.policy.fault import FaultsError
from effectgate.receipts.store import StoreError
from effectgate.receipts.store_file import FILE_NAME, STATE_SPACE
from effectgate.receipts.store_keys import INSTALLATION_KEY, SIGNING_KEY, TRUST_FILE, TrustError, read_trust
from effectgate.receipts.store_reading import reading
from effectgate.receipts.store_tokens import minted
from effectgate.setting_values import parse_address

Level = Literal["ok", "warning", "problem"]
SOON_DAYS = 14


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; `fix` is empty where all is well."""

    level: Level
    subject: str
    message: str
    fix: str = ""


def diagnose(option: Path | None, now: datetime) -> Iterator[Finding]:
    """Look at everything that can be looked at; nothing is changed."""
    try:
        settings = load_settings(option)
    except FaultsError as error:
        yield from _faults("settings", error)
        return
    yield Finding("ok", "settings", str(settings.file or "defaults, no effectgate.yaml"))
    for check in CHECKS:
        yield from check(settings)
    yield from _policy(settings, now)


def _faults(subject: str, error: FaultsError) -> Iterator[Finding]:
    for fault in error.faults:
        place = f"{fault.file}:{fault.line}" if fault.line else fault.file
        message = f"{fault.key}: {fault.message}" if fault.key else fault.message
        yield Finding("problem", subject, f"{place}: {message}", fault.fix)


def _root(settings: Settings) -> Iterator[Finding]:
    if os.geteuid() == 0:
        yield Finding("warning", "user", "running as root, which is never needed", "run as a user of its own")


def _state(settings: Settings) -> Iterator[Finding]:
    state = settings.state
    if not state.is_dir():
        yield Finding("warning", "state", f"{state} does not exist yet", "run `effectgate setup`, or serve")
        return
    for path in (state, state / SIGNING_KEY, state / INSTALLATION_KEY, state / FILE_NAME):
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            mode = "700" if path.is_dir() else "600"
            yield Finding("problem", "state", f"others can reach {path}", f"chmod {mode} {path}")
    free = shutil.disk_usage(state).free
    if free < STATE_SPACE:
        yield Finding("problem", "state", f"{free >> 20} MiB free for {state}", "make room: below 1 MiB all is refused")
    else:
        yield Finding("ok", "state", f"{state}, {free >> 20} MiB free")


def _exposures(settings: Settings) -> Iterator[Finding]:
    for exposure in exposures(deciding(settings)):
        yield Finding("warning", "files", f"others can change {exposure.path}: {exposure.reason}", exposure.fix)


def _receipts(settings: Settings) -> Iterator[Finding]:
    store = settings.state / FILE_NAME
    if not store.exists():
        return
    try:
        with reading(store) as reader:
            yield Finding("ok", "receipts", f"{reader.last_seq()} in {store}; `effectgate receipts verify` proves them")
    except StoreError as error:
        yield Finding("problem", "receipts", str(error), "restore the file, or move it away to begin a new one")


def _ca(settings: Settings) -> Iterator[Finding]:
    certificate, key = settings.certs / "ca.pem", settings.certs / "ca-key.pem"
    if not certificate.is_file():
        yield Finding("warning", "CA", f"there is none at {certificate} yet", "run `effectgate setup`, or serve")
        return
    if key.exists() and stat.S_IMODE(key.stat().st_mode) & 0o077:
        yield Finding("problem", "CA", f"others can read {key}", f"chmod 600 {key}")
    try:
        ends = x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc
    except ValueError:
        yield Finding("problem", "CA", f"{certificate} is not a certificate", "remove it and its key to make a new one")
        return
    yield _lasting(
        "CA", f"{certificate} is valid until {ends:%Y-%m-%d}", ends, "remove it and its key to make a new one"
    )


def _lasting(subject: str, message: str, ends: datetime, fix: str) -> Finding:
    days = (ends - datetime.now(UTC)).days
    if days < 0:
        return Finding("problem", subject, message, fix)
    return Finding("warning", subject, message, fix) if days < SOON_DAYS else Finding("ok", subject, message)


def _trust(settings: Settings) -> Iterator[Finding]:
    trust = settings.certs / TRUST_FILE
    if not trust.exists():
        return
    try:
        yield Finding("ok", "trust", f"{trust} is readable, keys: {len(read_trust(trust))}")
    except TrustError as error:
        yield Finding("problem", "trust", str(error), "restore it from your backup")


def _listeners(settings: Settings) -> Iterator[Finding]:
    if _ready(settings.written.api.http):
        yield Finding("ok", "service", f"ready at {settings.listen}")
        return
    for key, text in (("listen", settings.written.listen), ("api.http", settings.written.api.http),
                      ("metrics", settings.written.metrics)):  # fmt: skip
        address = parse_address(text)
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        try:
            socket.create_server(address, family=family).close()
        except OSError as error:
            message = f"{key}: {text} cannot be had ({error.strerror})"
            yield Finding("problem", "service", message, f"stop what holds it, or choose another {key}")
    yield Finding("warning", "service", f"nothing is ready at {settings.listen}", "start ./run_proxy.sh")


def _ready(address: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with contextlib.suppress(OSError), opener.open(f"http://{address}/readyz", timeout=3):
        return True
    return False


CHECKS: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
    _root,
    _state,
    _exposures,
    _receipts,
    _ca,
    _trust,
    _listeners,
)


def _policy(settings: Settings, now: datetime) -> Iterator[Finding]:
    try:
        policy = read_policy(settings)
    except FaultsError as error:
        yield from _faults("packs", error)
        return
    yield Finding("ok", "packs", f"{len(policy.catalog.effects)} effects, {len(policy.ceilings)} ceilings")
    try:
        yield from _grants(settings, policy, now)
    except FaultsError as error:
        yield from _faults("grants", error)


def _grants(settings: Settings, policy: Policy, now: datetime) -> Iterator[Finding]:
    grants = read_grants(settings, policy, now)
    yield Finding("ok", "grants", f"{len(grants.by_principal)} agents in {settings.grants}")
    for name, grant in grants.by_principal.items():
        if name not in grants.tokens and not _minted(settings, name):
            yield Finding("warning", "grants", f"{name} has no token", f"effectgate token new {name}")
        if grant.expires is not None:
            message = f"the grant of {name} ends {grant.expires:%Y-%m-%d %H:%M}"
            yield _lasting("grants", message, grant.expires, f"write a later `expires` in {settings.grants}")


def _minted(settings: Settings, name: str) -> bool:
    return (settings.state / FILE_NAME).exists() and bool(minted(settings.state, name))
