"""Receipts made durable within a deadline, from the event loop (design.md section 5, "Durable before the first byte leaves")."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from effectgate.receipts.record import Draft, Sealed
from effectgate.receipts.store import Spend, Store, StoreError

DEADLINE_SECONDS: Final = 5.0
# Completions that a failing store could not take, kept until it can; beyond this the oldest ALLOW stays open in the record.
OWED_LIMIT: Final = 10_000

Late = Callable[[Sealed], None]


class Recorder:
    """Waits for a store, but never longer than the deadline; keeps what is owed to a store that fails."""

    def __init__(self, store: Store, deadline: float = DEADLINE_SECONDS) -> None:
        self._store = store
        self._deadline = deadline
        self._owed: deque[tuple[Draft, tuple[Spend, ...]]] = deque(maxlen=OWED_LIMIT)

    async def durable(self, draft: Draft, spends: tuple[Spend, ...], late: Late) -> Sealed:
        """The sealed receipt once it is on disk, or StoreError; SpentError where what it spends does not fit.

        Where nobody waits any more (deadline, cancellation) and the commit still succeeds, `late` hears of it on the store's thread.
        """
        future = self._store.append(draft, spends)
        try:
            async with asyncio.timeout(self._deadline):
                sealed = await asyncio.wrap_future(future)
        except TimeoutError:
            future.add_done_callback(functools.partial(_tell, late))
            raise StoreError(f"the receipt was not durable within {self._deadline:g} s") from None
        except asyncio.CancelledError:
            future.add_done_callback(functools.partial(_tell, late))
            raise
        if self._owed:
            self._pay()
        return sealed

    def owe(self, draft: Draft, spends: tuple[Spend, ...] = ()) -> Future[Sealed]:
        """Queue a receipt that must reach the record in the end: if the store fails now, it follows when the store works again."""
        future = self._store.append(draft, spends)
        future.add_done_callback(functools.partial(self._keep, draft, spends))
        return future

    async def settled(self, future: Future[Sealed]) -> None:
        """Wait for a queued receipt until the deadline; what fails is owed already."""
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(self._deadline):
                await asyncio.shield(asyncio.wrap_future(future))

    def _keep(self, draft: Draft, spends: tuple[Spend, ...], future: Future[Sealed]) -> None:
        if not future.cancelled() and future.exception() is not None:
            self._owed.append((draft, spends))

    def _pay(self) -> None:
        owed, self._owed = self._owed, deque(maxlen=OWED_LIMIT)
        for draft, spends in owed:
            self.owe(draft, spends)


def _tell(late: Late, future: Future[Sealed]) -> None:
    if not future.cancelled() and future.exception() is None:
        late(future.result())
