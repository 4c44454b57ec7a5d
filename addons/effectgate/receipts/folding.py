"""Refusals one by one up to a rate, beyond it folded into one receipt a minute, so that nobody can fill the store. Pure (design.md section 5)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from effectgate.receipts.merkle import MerkleRoot

RATE: Final = 50.0  # receipts a second and principal
BURST: Final = 1000.0
FOLD_SECONDS: Final = 60.0


@dataclass(slots=True)
class Fold:
    """Refusals that share one receipt: how many, for what, and the Merkle root over what each receipt would have kept."""

    since: str
    reasons: Counter[str] = field(default_factory=Counter)
    root: MerkleRoot = field(default_factory=MerkleRoot)

    def output(self) -> dict[str, object]:
        """The `output` of the folding receipt."""
        return {
            "count": self.root.size,
            "merkle_root": self.root.hex(),
            "reasons": dict(self.reasons),
            "since": self.since,
        }


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float  # monotonic seconds


class RefusalMeter:
    """A token bucket for each principal, and the fold of what went beyond it. Principals are configured, so both are bounded."""

    def __init__(self, rate: float = RATE, burst: float = BURST) -> None:
        self._rate = rate
        self._burst = burst
        self._buckets: dict[str, _Bucket] = {}
        self._folds: dict[str, Fold] = {}

    def take(self, principal: str, monotonic: float) -> bool:
        """Whether this refusal still has a receipt of its own."""
        bucket = self._buckets.setdefault(principal, _Bucket(self._burst, monotonic))
        bucket.tokens = min(self._burst, bucket.tokens + (monotonic - bucket.filled) * self._rate)
        bucket.filled = monotonic
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def fold(self, principal: str, reason: str, leaf: bytes, timestamp: str) -> bool:
        """Fold one refusal; true where it is the first of a fold, whose receipt is then due in FOLD_SECONDS."""
        first = principal not in self._folds
        fold = self._folds.setdefault(principal, Fold(timestamp))
        fold.reasons[reason] += 1
        fold.root.add(leaf)
        return first

    def unfold(self, principal: str) -> Fold | None:
        """Hand over the fold of a principal, which is then empty."""
        return self._folds.pop(principal, None)

    def folding(self) -> tuple[str, ...]:
        """Principals whose refusals are being folded."""
        return tuple(self._folds)
