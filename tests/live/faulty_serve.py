"""`effectgate serve` with one hook that can be made to fail while it runs: the product itself has no such switch.

The file named by EFFECTGATE_TEST_FAULT holds ``HOOK KIND``: from then on HOOK raises (`raise`), is cancelled (`cancel`), runs out of
memory (`memory`) or does not return (`hang`). Without the file everything works. The file beside it, `clock`, says by how many seconds
the wall clock is wrong.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from effectgate import instant
from effectgate.cli import main
from effectgate.proxy.dispatch import Dispatch, Handler

FAULT = Path(os.environ["EFFECTGATE_TEST_FAULT"])
CLOCK = FAULT.with_name("clock")
HOOK_SECONDS = 1.0


def _raise() -> None:
    raise RuntimeError("injected")


def _cancel() -> None:
    raise asyncio.CancelledError


def _exhaust() -> None:
    raise MemoryError


async def _hang() -> None:
    await asyncio.sleep(60)


KINDS: dict[str, Callable[[], Any]] = {"raise": _raise, "cancel": _cancel, "memory": _exhaust, "hang": _hang}


_handlers = Dispatch._handlers


def _faulty(self: Dispatch, name: str) -> tuple[Handler, ...]:
    """The handlers of a hook, behind the injected fault where the file names this hook."""
    self._seconds = HOOK_SECONDS
    hook, _, kind = FAULT.read_text().partition(" ") if FAULT.exists() else ("", "", "")
    injected: tuple[Handler, ...] = (lambda data: KINDS[kind](),) if hook == name else ()
    return (*injected, *_handlers(self, name))


class WrongClock(datetime):
    """`datetime` where the clock that decides looks it up."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
        """What a wall clock says that somebody has set."""
        wrong = float(CLOCK.read_text() or 0) if CLOCK.exists() else 0.0
        return datetime.now(tz or UTC) + timedelta(seconds=wrong)


if __name__ == "__main__":
    instant.datetime = WrongClock  # type: ignore[misc]
    Dispatch._handlers = _faulty  # type: ignore[method-assign]
    main()
