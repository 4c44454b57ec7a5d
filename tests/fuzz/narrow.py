"""The live fuzzer's second opinion: what may arrive at the origin, and that its ALLOW was on disk before it did."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections import Counter
from pathlib import Path

from fuzz import naive, realm
from fuzz.cases import HOST
from fuzz.raw import PSEUDO, Raw
from origin.journal import Seen

Key = tuple[str, str, str]  # method, scheme, path


def objection(seen: Seen, scheme: str) -> str:
    """Why a request that arrived is not what `narrow/read-item` means, or the empty string."""
    fields = tuple(seen.fields) if seen.protocol != "h2" else ((PSEUDO, seen.host.encode()), *seen.fields)
    raw = Raw(seen.method.encode(), scheme, f"{HOST}:{naive.PORTS[scheme]}".encode(), seen.target, fields, seen.body)
    if fault := naive.fault(raw):
        return fault
    path, _ = naive.split(raw.target)
    readings = set(realm.readings(path))
    if raw.method not in (b"GET", b"HEAD") or any(reading == "/items/admin" for reading in readings):
        return "another effect"
    if not re.fullmatch(r"/items/[^/]+", realm.decoded(path)) or "%2F" in realm.decoded(path):
        return "no effect"
    if raw.body or any(name.lower() in (b"upgrade", b"transfer-encoding") for name, _ in seen.fields):
        return "a body or an upgrade"
    leaked = [name for name, _ in seen.fields if name.lower().startswith((b"proxy-", b"x-effectgate-"))]
    return f"a field of ours: {leaked}" if leaked else ""


class Ledger:
    """ALLOW receipts as they lie on disk, each used up by one request at an origin. Called from the origins' thread."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._read = 0
        self._left: Counter[Key] = Counter()
        self._lock = threading.Lock()
        self.objections: list[str] = []

    def arrived(self, seen: Seen, scheme: str) -> None:
        """Note an objection unless an unused ALLOW for this request is durable now."""
        key = (seen.method, scheme, seen.target.decode("latin-1").partition("?")[0])
        with self._lock:
            self._catch_up()
            self._left[key] -= 1
            if self._left[key] < 0:
                self.objections.append(f"no receipt when {seen} arrived")

    def _catch_up(self) -> None:
        with sqlite3.connect(f"file:{self._store}?mode=ro", uri=True, timeout=5) as store:
            rows = store.execute("SELECT seq, body FROM receipts WHERE seq > ? ORDER BY seq", (self._read,)).fetchall()
        store.close()
        for sequence, body in rows:
            self._read = max(self._read, sequence)
            receipt = json.loads(body)
            if receipt["verdict"] == "ALLOW":
                args = receipt["args"]
                self._left[(args["method"], args["scheme"], args["path"])] += 1
