"""The ledger of limits: reserved before a request leaves, settled after it, kept in the store with the receipts (design.md section 6)."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from effectgate.receipts.limits import Exhausted, Meter, Window
from effectgate.receipts.store import Spend, SpentError, StoreError
from effectgate.receipts.store_file import FILE_NAME, open_for_reading

Used = Mapping[tuple[str, str], tuple[int, int]]  # (principal, limit) -> (window, used)
Load = Callable[[], Used]

# How long what this process knows of the others' use is good enough to refuse on.
FRESH_SECONDS: Final = 1.0


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

    def correction(self, used: Mapping[str, int]) -> tuple[Spend, ...]:
        """What the store has to book once it is known how much of each limit was really used."""
        return tuple(
            Spend(self.principal, name, self.window, used.get(name, 0) - amount)
            for name, amount in self.amounts.items()
            if used.get(name, 0) != amount
        )


class Ledger:
    """Meters of every limited principal, as far as this process knows them. What counts is what the store has booked.

    A reservation that fits here may be refused there (SpentError): `adopt` then takes over what others have used. A refusal
    here may be out of date: what others gave back is looked up, at most once in FRESH_SECONDS.
    """

    def __init__(self, load: Load, clock: Callable[[], float] = time.monotonic) -> None:
        self._load = load
        self._clock = clock
        self._loaded = -math.inf
        self._stored: Used | None = None
        self._meters: dict[tuple[str, str], Meter] = {}

    def reserve(
        self, principal: str, limits: Limits | None, upload: int | None, now: datetime
    ) -> Reservation | Exhausted:
        """Reserve one request and its body of `upload` bytes; None, not yet known, takes all that is left. Raises StoreError."""
        wanted = _wanted(limits, upload)
        if limits is None or not wanted:
            return Reservation(principal, {}, ())
        held = self._reserve(principal, limits, wanted, now)
        if isinstance(held, Exhausted) and self._clock() - self._loaded > FRESH_SECONDS:
            self._refresh(principal)
            held = self._reserve(principal, limits, wanted, now)
        return held

    def adopt(self, principal: str, spent: SpentError) -> None:
        """Take over what the store has booked for a principal, by every process."""
        for name, (window, used) in spent.stood.items():
            if (meter := self._meters.get((principal, name))) is not None:
                meter.adopt(window, used)

    def settle(self, reservation: Reservation, uploaded: int) -> tuple[Spend, ...]:
        """Close a reservation with the body bytes that really left. One of a window that is over was counted there, whole."""
        used = dict(reservation.amounts)
        if "upload_bytes" in used:
            used["upload_bytes"] = uploaded
        self._close(reservation, used)
        return reservation.correction(used)

    def release(self, reservation: Reservation) -> None:
        """Close a reservation under which nothing was sent."""
        self._close(reservation, {})

    def remaining(self, principal: str) -> dict[str, int]:
        """What is left of each limit that this principal has used so far."""
        return {name: meter.left for (who, name), meter in self._meters.items() if who == principal}

    def _reserve(
        self, principal: str, limits: Limits, wanted: Mapping[str, tuple[int, int | None]], now: datetime
    ) -> Reservation | Exhausted:
        for name, (size, amount) in wanted.items():
            meter = self._meter(principal, name, size, Window.at(limits.per, now))
            if meter.latched or meter.left < (1 if amount is None else amount):
                return Exhausted(name, limits.per, size, meter.left, amount or 1, meter.window.resets)
        return self._reserved(principal, wanted, meter.window.began)

    def _reserved(self, principal: str, wanted: Mapping[str, tuple[int, int | None]], window: int) -> Reservation:
        taken: dict[str, int] = {}
        for name, (_, amount) in wanted.items():
            meter = self._meters[principal, name]
            taken[name] = meter.left if amount is None else amount
            meter.reserve(taken[name])
        spends = tuple(Spend(principal, name, window, taken[name], size) for name, (size, _) in wanted.items())
        return Reservation(principal, taken, spends, window, taken.get("upload_bytes"))

    def _close(self, reservation: Reservation, used: Mapping[str, int]) -> None:
        for name, amount in reservation.amounts.items():
            meter = self._meters[reservation.principal, name]
            if meter.window.began == reservation.window:
                meter.settle(amount, used.get(name, 0))

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

    def _refresh(self, principal: str) -> None:
        self._stored = self._load()
        self._loaded = self._clock()
        for (who, name), (window, used) in self._stored.items():
            if who == principal and (meter := self._meters.get((who, name))) is not None:
                meter.adopt(window, used)


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
