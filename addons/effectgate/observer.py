"""Who looks on at the boundary, for metrics, without the boundary knowing of metrics (design.md sections 9 and 10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from effectgate.answer import Outcome
from effectgate.policy.verdict import Verdict


class Observer(Protocol):
    """Called on the event loop; what it raises is reported and changes no answer."""

    def decided(self, principal: str, verdict: Verdict, seconds: float) -> None:
        """The verdict that is answered, receipt or failure of it included, and how long deciding alone took."""

    def committed(self, seconds: float) -> None:
        """One receipt is durable, after so many seconds of waiting for it."""

    def completed(self, principal: str, effect: str | None, outcome: Outcome) -> None:
        """An allowed request has ended."""

    def remaining(self, principal: str, left: Mapping[str, int]) -> None:
        """What is left of the limits of a principal that has some, by limit name."""


class Blind:
    """The observer that sees nothing."""

    def decided(self, principal: str, verdict: Verdict, seconds: float) -> None:
        """Nothing."""

    def committed(self, seconds: float) -> None:
        """Nothing."""

    def completed(self, principal: str, effect: str | None, outcome: Outcome) -> None:
        """Nothing."""

    def remaining(self, principal: str, left: Mapping[str, int]) -> None:
        """Nothing."""
