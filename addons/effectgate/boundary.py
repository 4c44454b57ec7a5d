"""The boundary: decide, append, then answer. The proxy, the API and the CLI all come through here (design.md, "One thought")."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from effectgate.answer import UNSENT, Answer, Attempt, Caller, Outcome, answer_of
from effectgate.decider import Decider, Ruling, failed
from effectgate.observer import Blind, Observer
from effectgate.policy.decision import decide as decide_by_policy
from effectgate.policy.facts import RequestFacts
from effectgate.policy.refusal import Target
from effectgate.policy.rulebook import Decide, Rulebook
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import Decision, Reason
from effectgate.receipts import drafts
from effectgate.receipts.canonical import canonical
from effectgate.receipts.evidence import Evidence
from effectgate.receipts.folding import FOLD_SECONDS, RefusalMeter
from effectgate.receipts.record import Draft, Sealed
from effectgate.receipts.store import Spend, Store
from effectgate.receipts.store_limits import Ledger, Reservation
from effectgate.recorder import DEADLINE_SECONDS, Recorder
from effectgate.watchdog import Watchdog

__all__ = ["Answer", "Attempt", "Boundary", "Caller", "EffectBoundary", "Observer", "Outcome"]

Report = Callable[[BaseException], None]


class Boundary(Protocol):
    """What the proxy and the API see. No method raises: a fault inside is an Answer with PDP_ERROR."""

    def inspect_bytes(self, caller: Caller, facts: RequestFacts) -> int:
        """How many bytes of the body must be held before `submit` (0: none), as the candidate shapes ask."""

    async def submit(self, caller: Caller, facts: RequestFacts) -> Answer:
        """Decide, make the receipt durable, and only then return. An ALLOW has a receipt on disk."""

    async def refuse(
        self, caller: Caller, attempt: Attempt, code: Reason, reason: str, *, status: int | None = None
    ) -> Answer:
        """Record a refusal that was decided before policy: an ambiguous envelope, a port, a throttle. Receipted, then returned."""

    async def complete(self, answer: Answer, outcome: Outcome) -> None:
        """Close an ALLOW once with its completion receipt; later calls for the same answer do nothing."""

    def admitted(self, principal: str) -> bool:
        """Whether this principal still holds a credential and a grant: asked on every request and for open streams after a reload."""


@dataclass(frozen=True, slots=True)
class _Allowed:
    """An ALLOW that is not closed yet."""

    draft: Draft
    receipt_id: str
    caller: Caller
    effect: str
    reservation: Reservation | None


class EffectBoundary:
    """The one Boundary there is. Lives on one event loop; `rules` is swapped by assignment.

    `credentialed` says whether a principal still has a valid credential; `report` hears of every fault that became a PDP_ERROR.
    """

    def __init__(
        self,
        rules: Rulebook,
        store: Store,
        evidence: Evidence,
        ledger: Ledger,
        *,
        decide: Decide = decide_by_policy,
        observer: Observer | None = None,
        credentialed: Callable[[str], bool] = lambda principal: True,
        report: Report = lambda fault: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        deadline: float = DEADLINE_SECONDS,
        watchdog: Watchdog | None = None,
        meter: RefusalMeter | None = None,
    ) -> None:
        self._decider = Decider(rules, decide, ledger, watchdog or Watchdog())
        self._recorder = Recorder(store, deadline)
        self._evidence = evidence
        self._ledger = ledger
        self._observer = observer or Blind()
        self._credentialed = credentialed
        self._report = report
        self._now = now
        self._meter = meter or RefusalMeter()
        self._allowed: dict[str, _Allowed] = {}

    @property
    def rules(self) -> Rulebook:
        """What decisions are made by; assign another to swap all of it at once."""
        return self._decider.rules

    @rules.setter
    def rules(self, rules: Rulebook) -> None:
        self._decider.rules = rules

    def inspect_bytes(self, caller: Caller, facts: RequestFacts) -> int:
        """See Boundary. Where the catalogue fails nothing is held; `submit` then meets the fault and refuses."""
        try:
            return self.rules.catalog.inspect_bytes(facts)
        except Exception as fault:
            self._report(fault)
            return 0

    def admitted(self, principal: str) -> bool:
        """See Boundary."""
        return self.rules.granted(principal, self._now()) and self._credentialed(principal)

    async def submit(self, caller: Caller, facts: RequestFacts) -> Answer:
        """See Boundary."""
        ruling = self._decider.rule(caller.principal, facts, self._now(), self._evidence.credentials(facts))
        if ruling.fault:
            self._report(ruling.fault)
        return await self._answered(caller, facts, ruling, lambda: self._evidence.request(caller.principal, facts, ruling.verdict))

    async def refuse(
        self, caller: Caller, attempt: Attempt, code: Reason, reason: str, *, status: int | None = None
    ) -> Answer:
        """See Boundary. A stranger's refusal has no receipt: it must not fill the store (design.md section 4)."""
        verdict = Verdict(Decision.DENY, code, reason)
        if not caller.principal:
            return self._tell(answer_of(verdict, attempt, caller, status=status), verdict, caller, 0.0)
        ruling = Ruling(verdict, self.rules, self.rules.grants.get(caller.principal))
        return await self._answered(caller, attempt, ruling, lambda: self._evidence.attempt(caller.principal, attempt, reason), status)
