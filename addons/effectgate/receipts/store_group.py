"""Group commit: one thread, and many waiting receipts in one transaction (design.md section 5)."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from effectgate.receipts.record import Draft, Sealed
from effectgate.receipts.store import Spend, SpentError, StoreError

# How long a lone receipt waits for company, and only where the group before it had company: an idle proxy never waits.
COMPANY_SECONDS: Final = 0.002
GROUP_LIMIT: Final = 256
QUEUE_LIMIT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One receipt that waits, what it spends, and who waits for it."""

    draft: Draft
    spends: tuple[Spend, ...] = ()
    done: Future[Sealed] = field(default_factory=Future)


# Each entry's receipt, or why this one was left out.
Commit = Callable[[Sequence[Entry]], Sequence[Sealed | SpentError]]


class GroupCommit:
    """Calls `commit` with groups of entries on a thread of its own. `commit` raises StoreError, and then the whole group has failed."""

    def __init__(self, commit: Commit, *, stuck_after: float) -> None:
        self._commit = commit
        self._stuck_after = stuck_after
        self._waiting: deque[Entry] = deque()
        self._arrival = threading.Condition()
        self._closing = False
        self._commit_began = 0.0
        self._had_company = False
        self.fault = ""
        self._thread = threading.Thread(target=self._run, name="receipts", daemon=True)
        self._thread.start()

    def append(self, entry: Entry) -> Future[Sealed]:
        """Queue an entry; refused at once where the queue is full, closed, or stuck behind one commit."""
        with self._arrival:
            if refusal := self._refusal():
                entry.done.set_exception(StoreError(refusal))
            else:
                self._waiting.append(entry)
                self._arrival.notify()
        return entry.done

    def close(self) -> None:
        """Commit what waits and end the thread; a commit that hangs is left behind after `stuck_after` seconds."""
        with self._arrival:
            self._closing = True
            self._arrival.notify()
        self._thread.join(self._stuck_after)

    def _refusal(self) -> str:
        if self._closing:
            return "the receipts store is closed"
        if len(self._waiting) >= QUEUE_LIMIT:
            return f"{QUEUE_LIMIT} receipts wait already"
        if self._commit_began and time.monotonic() - self._commit_began > self._stuck_after:
            return f"one commit has taken more than {self._stuck_after:g} s"
        return ""

    def _run(self) -> None:
        while group := self._next_group():
            wanted = [entry for entry in group if entry.done.set_running_or_notify_cancel()]
            if wanted:
                self._settle(wanted)

    def _next_group(self) -> list[Entry]:
        with self._arrival:
            self._arrival.wait_for(lambda: self._waiting or self._closing)
            if len(self._waiting) == 1 and self._had_company:
                self._arrival.wait_for(lambda: len(self._waiting) > 1 or self._closing, COMPANY_SECONDS)
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), GROUP_LIMIT))]
            self._had_company = len(group) > 1
            self._commit_began = time.monotonic() if group else 0.0
            return group

    def _settle(self, group: list[Entry]) -> None:
        try:
            sealed = self._commit(group)
        except BaseException as fault:  # whatever it is, nobody may be left waiting
            self.fault = str(fault) or type(fault).__name__
            for entry in group:
                entry.done.set_exception(fault if isinstance(fault, StoreError) else StoreError(self.fault))
        else:
            self.fault = ""
            for entry, receipt in zip(group, sealed, strict=True):
                if isinstance(receipt, SpentError):
                    entry.done.set_exception(receipt)
                else:
                    entry.done.set_result(receipt)
        finally:
            self._commit_began = 0.0
