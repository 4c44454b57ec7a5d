"""Hooks that fail closed.

mitmproxy 12.3.1 logs an exception in a hook and lets the request go on. Here a hook that raises, or does not return in
time, ends in a refusal where one can still be given; otherwise the layer that asked is never resumed and its connection is
closed. A table is built once for each hook name: walking all addons for each event costs more than any of them.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from mitmproxy.addonmanager import AddonManager, traverse
from mitmproxy.exceptions import AddonHalt
from mitmproxy.hooks import Hook

logger = logging.getLogger(__name__)
Handler = Callable[[Any], Any]


class HookFaultError(Exception):
    """A hook failed and no refusal could be put in its place: the layer that asked must not be resumed."""


class FaultRefusal(Protocol):
    """Puts a refusal in the place of a failed hook."""

    def __call__(self, hook: str, data: Any, reason: str, /) -> bool:
        """Refuse; false if nothing can be said any more, and the connection has been closed instead."""


class Dispatch:
    """Runs the handlers of one hook in the order of the addons."""

    def __init__(self, addons: AddonManager, refuse: FaultRefusal, seconds: float) -> None:
        self._addons = addons
        self._refuse = refuse
        self._seconds = seconds
        self._table: dict[str, tuple[Handler, ...]] = {}
        self._chain: Sequence[object] = ()

    async def handle_lifecycle(self, event: Hook) -> None:
        """Stands in for AddonManager.handle_lifecycle. Raises HookFaultError; exits and cancellations pass."""
        data = event.args()[0]
        try:
            for handler in self._handlers(event.name):
                result = handler(data)
                if result is not None and inspect.isawaitable(result):
                    async with asyncio.timeout(self._seconds):
                        await result
        except AddonHalt:
            return
        except BaseException as fault:
            logger.error("hook %s failed", event.name, exc_info=fault)
            refused = self._refuse(event.name, data, _reason(event.name, fault))
            if _ends_more_than_the_hook(fault):
                raise
            if not refused:
                raise HookFaultError(event.name) from fault

    def _handlers(self, name: str) -> tuple[Handler, ...]:
        if self._chain != self._addons.chain:
            self._chain, self._table = list(self._addons.chain), {}
        if name not in self._table:
            self._table[name] = tuple(
                handler for addon in traverse(self._chain) if callable(handler := getattr(addon, name, None))
            )
        return self._table[name]


def _ends_more_than_the_hook(fault: BaseException) -> bool:
    # A CancelledError that a hook raised by itself cancels nobody; passed on, it would leave the client waiting.
    if isinstance(fault, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(fault, (KeyboardInterrupt, SystemExit))


def _reason(hook: str, fault: BaseException) -> str:
    what = "took too long" if isinstance(fault, TimeoutError) else "failed"
    return f"Deciding about this request {what} inside Effectgate ({hook}); nothing was sent."
