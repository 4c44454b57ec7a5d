"""The store: what makes receipts durable. One interface for every store, and its one error (design.md section 5)."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from effectgate.receipts.record import Draft, Sealed


class StoreError(Exception):
    """The store cannot make a receipt durable. The message says what is wrong and what would mend it."""


class StateModeError(StoreError):
    """A key or a directory that others could read or write. The message names it and the fix."""


@dataclass(frozen=True, slots=True)
class Spend:
    """What one principal has used of one limit in one window; written in the same transaction as the receipt that spent it."""

    principal: str
    limit: str
    window: int  # seconds since the epoch at which the window began; 0 for one that never resets
    used: int


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
        """Queue a receipt. The future ends when it is on disk, or with StoreError; cancelled before its commit, it is never written."""

    @property
    def fault(self) -> str:
        """Why the last commit failed; empty while the store works."""

    def close(self) -> None:
        """Commit what waits, then let go of the store."""
