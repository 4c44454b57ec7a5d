"""The clock's readings as text: timestamps of receipts, and ids that sort by time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


def rfc3339(now: datetime) -> str:
    """An aware time as RFC 3339 in UTC, milliseconds."""
    return now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def never_behind(
    now: Callable[[], datetime] = lambda: datetime.now(UTC), passed: Callable[[], float] = time.monotonic
) -> Callable[[], datetime]:
    """The wall clock, or what has passed since it was first looked at, whichever is later (ADR 0043).

    Set back, it goes on as if nothing had happened, so that nothing lives longer; set forward and put right, it is right again.
    """
    began, since = now(), passed()

    def read() -> datetime:
        return max(now(), began + timedelta(seconds=passed() - since))

    return read


def fresh_suffix() -> str:
    """27 characters that no other call returns: milliseconds since the epoch in hex, then 64 random bits."""
    return f"{time.time_ns() // 1_000_000:011x}{os.urandom(8).hex()}"
