"""A decision that hangs is broken off: pure code cannot yield, so only a signal ends it (design.md section 4, PDP_ERROR)."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

LIMIT_SECONDS: Final = 1.0
# Used by nothing else here: SIGALRM belongs to test runners, SIGUSR1 and SIGUSR2 to operators.
SIGNAL: Final = signal.SIGVTALRM


class HangError(Exception):
    """The guarded code took longer than its limit."""


class Watchdog:
    """Guards code on the main thread. Python delivers signals only there; on any other thread `guard` does nothing.

    One thread looks four times a limit; entering and leaving a guard is one assignment each.
    """

    def __init__(self, limit: float = LIMIT_SECONDS) -> None:
        self._limit = limit
        self._since = 0.0  # monotonic; 0 while nothing is guarded
        self._fired = 0.0
        self._ended = threading.Event()
        self._active = threading.current_thread() is threading.main_thread()
        if self._active:
            self._main = threading.get_ident()
            self._former = signal.signal(SIGNAL, self._on_signal)
            threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Raises HangError inside the block once it has run for the limit."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._since = 0.0

    def close(self) -> None:
        """End the thread and restore the signal's former handler."""
        self._ended.set()
        if self._active and threading.get_ident() == self._main:
            signal.signal(SIGNAL, self._former)
            self._active = False

    def _watch(self) -> None:
        while not self._ended.wait(self._limit / 4):
            since = self._since
            if since and time.monotonic() - since > self._limit:
                self._fired = since
                signal.pthread_kill(self._main, SIGNAL)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._since and self._since == self._fired:  # still the same block, not the one after it
            raise HangError(f"the decision took more than {self._limit:g} s")
