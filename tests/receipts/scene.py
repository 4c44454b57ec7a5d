"""A store, its keys and a boundary in a line each, for the tests of receipts."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from effectgate.receipts.canonical import canonical
from effectgate.receipts.record import Draft
from effectgate.receipts.store_file import FILE_NAME
from effectgate.receipts.store_keys import SigningKey, checker
from effectgate.receipts.store_sqlite import SqliteStore

DATA = Path(__file__).parents[1] / "data" / "helm"
KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(b"\x2a" * 32))
OTHER_KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(b"\x2b" * 32))
TRUSTED = {KEY.key_id: checker(KEY.public_hex)}

DRAFT = Draft(
    "decision",
    "2026-11-30T12:00:00.000Z",
    "dec-1",
    "eff-1",
    "ALLOW",
    "ALLOW",
    "",
    "session-1",
    canonical({"principal": "ci-fixer", "host": "api.test", "path": "/a"}),
    canonical({"catalog": "sha256:00", "effect": "test/read"}),
)


def draft(number: int, verdict: str = "DENY", **changes: Any) -> Draft:
    """A decision of its own, different for each number."""
    args = canonical({"principal": "ci-fixer", "number": number})
    reason = "" if verdict == "ALLOW" else "DATA_EGRESS_BLOCKED"
    ids = {"decision_id": f"dec-{number}", "effect_id": f"eff-{number}"}
    return replace(DRAFT, status=verdict, verdict=verdict, reason_code=reason, args=args, **ids, **changes)


def private(directory: Path) -> Path:
    """A state directory as we make it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    return directory


def filled(state: Path, count: int) -> Path:
    """A store file that holds `count` decisions (and the three receipts that begin its chains)."""
    store = SqliteStore(private(state), KEY)
    for future in [store.append(draft(number)) for number in range(count)]:
        future.result(10)
    store.close()
    return state / FILE_NAME


def bodies(file: Path) -> list[dict[str, Any]]:
    """Every receipt in order of seq, read as a stranger would."""
    connection = sqlite3.connect(file)
    try:
        return [json.loads(body) for (body,) in connection.execute("SELECT body FROM receipts ORDER BY seq")]
    finally:
        connection.close()
