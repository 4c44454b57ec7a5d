"""The clock's readings as text: timestamps of receipts, and ids that sort by time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime


def rfc3339(now: datetime) -> str:
    """An aware time as RFC 3339 in UTC, milliseconds."""
    return now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def never_back(now: Callable[[], datetime]) -> Callable[[], datetime]:
    """A clock that stands still where `now` is set back: timestamps of a chain never fall, and nothing that expired lives again."""
    latest = datetime.min.replace(tzinfo=UTC)

    def read() -> datetime:
        nonlocal latest
        latest = max(latest, now())
        return latest

    return read


def fresh_suffix() -> str:
    """27 characters that no other call returns: milliseconds since the epoch in hex, then 64 random bits."""
    return f"{time.time_ns() // 1_000_000:011x}{os.urandom(8).hex()}"
