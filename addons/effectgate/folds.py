"""Refusals beyond the rate: answered 429 at once, and folded into one receipt a minute and principal (design.md section 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from effectgate.instant import fresh_suffix
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import Decision, Reason
from effectgate.receipts import drafts
from effectgate.receipts.canonical import canonical
from effectgate.receipts.folding import FOLD_SECONDS, RATE, RefusalMeter
from effectgate.receipts.record import Draft
from effectgate.recorder import Recorder


class Folds:
    """Counts refusals of each principal, and writes the folding receipts when they are due."""

    def __init__(
        self,
        recorder: Recorder,
        meter: RefusalMeter,
        clock: Callable[[], str],
        *,
        every: float = FOLD_SECONDS,
    ) -> None:
        self._recorder = recorder
        self._meter = meter
        self._clock = clock
        self._every = every

    def take(self, principal: str) -> bool:
        """Whether this refusal has a receipt of its own."""
        return self._meter.take(principal, asyncio.get_running_loop().time())

    def fold(self, principal: str, verdict: Verdict, args: Mapping[str, object]) -> Verdict:
        """Fold a refusal; the verdict to answer with instead. The leaf is what its receipt would have kept as `args`."""
        if self._meter.fold(principal, str(verdict.reason_code), canonical(dict(args)), self._clock()):
            asyncio.get_running_loop().call_later(self._every, self._write, principal)
        return Verdict(
            Decision.DENY,
            Reason.TEMPORAL_THROTTLE,
            f"More than {RATE:g} refusals a second: this one ({verdict.reason_code}) is counted and has no receipt of its own.",
        )

    async def close(self) -> None:
        """Write what is still folded."""
        due = [draft for principal in self._meter.folding() if (draft := self._draft(principal)) is not None]
        await asyncio.gather(*(self._recorder.settled(self._recorder.owe(draft)) for draft in due))

    def _write(self, principal: str) -> None:
        if (draft := self._draft(principal)) is not None:
            self._recorder.owe(draft)

    def _draft(self, principal: str) -> Draft | None:
        folded = self._meter.unfold(principal)
        if folded is None:
            return None
        return drafts.fold(timestamp=self._clock(), suffix=fresh_suffix(), principal=principal, folded=folded)
