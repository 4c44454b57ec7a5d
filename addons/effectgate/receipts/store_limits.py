"""The ledger of limits: reserved before a request leaves, settled after it, kept in the store with the receipts (design.md section 6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from effectgate.receipts.limits import Exhausted, Meter, Window
from effectgate.receipts.store import Spend, StoreError
from effectgate.receipts.store_file import FILE_NAME, open_for_reading

Used = Mapping[tuple[str, str], tuple[int, int]]  # (principal, limit) -> (window, used)
Load = Callable[[], Used]


class Limits(Protocol):
    """The limits of a grant, as `policy.grant.Limits` has them."""

    @property
    def requests(self) -> int | None:
        """Requests a window; None without a limit."""

    @property
    def upload_bytes(self) -> int | None:
        """Body bytes a window; None without a limit."""

    @property
    def per(self) -> str:
        """A key of WINDOW_SECONDS."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one request holds until it is settled, in the window that began at `window`.

    `upload_left` bounds its body, None without a limit; `spends` go to the store with its receipt.
    """

    principal: str
    amounts: Mapping[str, int]
    spends: tuple[Spend, ...]
    window: int = 0
    upload_left: int | None = None


class Ledger:
    """Meters of every limited principal. One process owns it; what another run has used is loaded once, at first need."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._stored: Used | None = None
        self._meters: dict[tuple[str, str], Meter] = {}

    def reserve(
        self, principal: str, limits: Limits | None, upload: int | None, now: datetime
    ) -> Reservation | Exhausted:
        """Reserve one request and its body of `upload` bytes; None, not yet known, takes all that is left. Raises StoreError."""
        wanted = _wanted(limits, upload)
        if limits is None or not wanted:
            return Reservation(principal, {}, ())
        for name, (size, amount) in wanted.items():
            meter = self._meter(principal, name, size, Window.at(limits.per, now))
            if meter.latched or meter.left < (1 if amount is None else amount):
                return Exhausted(name, limits.per, size, meter.left, amount or 1, meter.window.resets)
        return self._reserved(principal, {name: amount for name, (_, amount) in wanted.items()}, meter.window.began)

    def settle(self, reservation: Reservation, uploaded: int) -> tuple[Spend, ...]:
        """Close a reservation with the body bytes that really left. One of a window that is over was counted there, whole."""
        for name, amount in reservation.amounts.items():
            self._close(reservation, name, amount, uploaded if name == "upload_bytes" else amount)
        return self._spends(reservation.principal, reservation.amounts)

    def release(self, reservation: Reservation) -> None:
        """Give back a reservation under which nothing was sent."""
        for name, amount in reservation.amounts.items():
            self._close(reservation, name, amount, 0)

    def _close(self, reservation: Reservation, name: str, amount: int, used: int) -> None:
        meter = self._meters[reservation.principal, name]
        if meter.window.began == reservation.window:
            meter.settle(amount, used)

    def remaining(self, principal: str) -> dict[str, int]:
        """What is left of each limit that this principal has used so far."""
        return {name: meter.left for (who, name), meter in self._meters.items() if who == principal}

    def _reserved(self, principal: str, amounts: Mapping[str, int | None], window: int) -> Reservation:
        taken: dict[str, int] = {}
        for name, amount in amounts.items():
            meter = self._meters[principal, name]
            taken[name] = meter.left if amount is None else amount
            meter.reserve(taken[name])
        return Reservation(principal, taken, self._spends(principal, taken), window, taken.get("upload_bytes"))

    def _spends(self, principal: str, names: Mapping[str, int]) -> tuple[Spend, ...]:
        meters = {name: self._meters[principal, name] for name in names}
        return tuple(Spend(principal, name, meter.window.began, meter.counted) for name, meter in meters.items())

    def _meter(self, principal: str, name: str, size: int, window: Window) -> Meter:
        meter = self._meters.get((principal, name))
        if meter is None:
            began, used = self._before().get((principal, name), (window.began, 0))
            meter = Meter(size, Window(began, window.resets), used, latched=used >= size)
            self._meters[principal, name] = meter
        meter.turn(size, window)
        return meter

    def _before(self) -> Used:
        if self._stored is None:
            self._stored = self._load()
        return self._stored


def _wanted(limits: Limits | None, upload: int | None) -> dict[str, tuple[int, int | None]]:
    """Limit name -> (its size, what this request takes of it)."""
    if limits is None:
        return {}
    sizes = {"requests": (limits.requests, 1), "upload_bytes": (limits.upload_bytes, upload)}
    return {name: (size, amount) for name, (size, amount) in sizes.items() if size is not None}


def used_so_far(state: Path) -> Used:
    """What the store file says was used; nothing where there is no file yet. Raises StoreError."""
    path = state / FILE_NAME
    if not path.exists():
        return {}
    connection = open_for_reading(path)
    try:
        rows = connection.execute("SELECT principal, name, window, used FROM limits").fetchall()
    except sqlite3.Error as fault:
        raise StoreError(f"{path} cannot be read: {fault}") from fault
    finally:
        connection.close()
    return {(principal, name): (window, used) for principal, name, window, used in rows}
