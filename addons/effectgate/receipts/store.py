"""The store: what makes receipts durable. One interface for every store, and its one error (design.md section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from effectgate.receipts.record import Draft, Sealed


class StoreError(Exception):
    """The store cannot make a receipt durable. The message says what is wrong and what would mend it."""


class StateModeError(StoreError):
    """A key or a directory that others could read or write. The message names it and the fix."""


class SpentError(Exception):
    """Another process has used what was to be reserved. `stood`: limit -> (the window that is counted, what is used of it)."""

    def __init__(self, stood: Mapping[str, tuple[int, int]]) -> None:
        super().__init__("the limit is used up")
        self.stood = stood


@dataclass(frozen=True, slots=True)
class Spend:
    """What one receipt takes of one limit, booked in its transaction: a reservation, or what its settlement corrects.

    `size` is the limit that a reservation must fit, with all that other processes have booked; None books in any case.
    """

    principal: str
    limit: str
    window: int  # seconds since the epoch at which the window began; 0 for one that never resets
    amount: int
    size: int | None = None


class Signer(Protocol):
    """The key of an installation."""

    @property
    def key_id(self) -> str:
        """The name that trust files know it by."""

    def sign(self, message: bytes) -> bytes:
        """The Ed25519 signature of `message`, 64 bytes."""


class Store(Protocol):
    """Where receipts go. Safe to call from any thread."""

    def append(self, draft: Draft, spends: tuple[Spend, ...] = ()) -> Future[Sealed]:
        """Queue a receipt. The future ends when it is on disk, or with StoreError; cancelled before its commit, it is never written.

        It ends with SpentError, and nothing is written, where what it spends does not fit.
        """

    @property
    def fault(self) -> str:
        """Why the last commit failed; empty while the store works."""

    def close(self) -> None:
        """Commit what waits, then let go of the store."""
