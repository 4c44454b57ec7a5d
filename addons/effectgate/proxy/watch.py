"""A layer's request to be woken when what it waits for from its client has taken too long."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Literal

from mitmproxy.proxy import commands

from effectgate.proxy.settings import Limits

What = Literal["head", "body"]


class Watch(commands.RequestWakeup):
    """Its layer is woken once: with `slow` where the client made too little progress, without it where all has come.

    `progress` tells how many bytes have come so far; `mark` is what it told when the client was found slow.
    """

    def __init__(self, what: What, progress: Callable[[], int] = lambda: 0) -> None:
        super().__init__(_ELSEWHERE_SECONDS)
        self.what = what
        self.progress = progress
        self.mark = 0
        self.slow = False
        self._over = asyncio.Event()

    def end(self) -> None:
        """All has come: wake the layer soon, to no effect."""
        self._over.set()

    async def watch(self, limits: Limits, excused: Callable[[], bool]) -> None:
        """Return when all has come, or once the client is slow; `excused` says that we do not read it just now."""
        seconds, least = _pace(self.what, limits)
        while not await self._ended(seconds):
            before, self.mark = self.mark, self.progress()
            if self.mark - before < least and not excused():
                self.slow = True
                return

    async def _ended(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._over.wait()
        except TimeoutError:
            return False


# Under `mitmdump -s`, whose connections know of no pace, the wakeup comes after this and finds nobody slow.
_ELSEWHERE_SECONDS = 60.0


def _pace(what: What, limits: Limits) -> tuple[float, float]:
    """Within so many seconds each time, at least so many bytes; a head has to be there whole."""
    return (limits.head_seconds, math.inf) if what == "head" else (limits.body_seconds, limits.body_bytes)
