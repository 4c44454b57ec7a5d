"""What was used of limits, booked in the transaction of the receipt that uses it: one count for every process (design.md section 6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from effectgate.receipts.store import Spend, SpentError


def book(connection: sqlite3.Connection, spends: Sequence[Spend]) -> SpentError | None:
    """Book all of it; or nothing, and the error that says what has been used already."""
    stood = {spend.limit: _stood(connection, spend) for spend in spends}
    if any(_too_much(spend, stood[spend.limit][1]) for spend in spends):
        return SpentError(stood)
    for spend in spends:
        window, used = stood[spend.limit]
        if window == spend.window:  # what is settled after its window is over counts in none
            _write(connection, spend, max(0, used + spend.amount))
    return None


def _stood(connection: sqlite3.Connection, spend: Spend) -> tuple[int, int]:
    """The window that is counted now, and what has been used in it.

    A reservation in an earlier window than the one on record is made by a clock that is right again: what was used counts on.
    """
    query = "SELECT window, used FROM limits WHERE principal = ? AND name = ?"
    row = connection.execute(query, (spend.principal, spend.limit)).fetchone()
    if row is None or row[0] < spend.window:
        return spend.window, 0
    window, used = row
    return (window if spend.size is None else spend.window), used


def _too_much(spend: Spend, used: int) -> bool:
    return spend.size is not None and used + spend.amount > spend.size


def _write(connection: sqlite3.Connection, spend: Spend, used: int) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO limits(principal, name, window, used) VALUES (?, ?, ?, ?)",
        (spend.principal, spend.limit, spend.window, used),
    )
