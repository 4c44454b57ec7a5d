"""The boundary: decide, append, then answer. The proxy, the API and the CLI all come through here (design.md, "One thought")."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from effectgate.answer import UNSENT, Answer, Attempt, Caller, Outcome, answer_of
from effectgate.decider import Decider, Ruling, failed
from effectgate.folds import Folds
from effectgate.instant import fresh_suffix, rfc3339
from effectgate.observer import Blind, Observer
from effectgate.policy.decision import decide as decide_by_policy
from effectgate.policy.facts import RequestFacts
from effectgate.policy.refusal import Target
from effectgate.policy.rulebook import Decide, Rulebook
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import Decision, Reason
from effectgate.receipts import drafts
from effectgate.receipts.evidence import Evidence
from effectgate.receipts.folding import RefusalMeter
from effectgate.receipts.record import Draft, Sealed
from effectgate.receipts.store import SpentError, Store
from effectgate.receipts.store_limits import Ledger, Reservation
from effectgate.recorder import DEADLINE_SECONDS, Recorder
from effectgate.watchdog import Watchdog

__all__ = ["Answer", "Attempt", "Boundary", "Caller", "EffectBoundary", "Observer", "Outcome"]

# How often a request may lose what is left of its limits to others that reserve at the same moment.
RESERVATIONS = 5

Report = Callable[[BaseException], None]
Args = Callable[[], dict[str, object]]


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
        self._now = now
        self._folds = Folds(self._recorder, meter or RefusalMeter(), lambda: rfc3339(self._now()))
        self._evidence = evidence
        self._ledger = ledger
        self._observer = observer or Blind()
        self._credentialed = credentialed
        self._report = report
        self._open: dict[str, _Allowed] = {}

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
            return self._decider.inspect_bytes(facts)
        except BaseException as fault:
            self._report(fault)
            return 0

    def admitted(self, principal: str) -> bool:
        """See Boundary."""
        return self.rules.granted(principal, self._now()) and self._credentialed(principal)

    async def submit(self, caller: Caller, facts: RequestFacts) -> Answer:
        """See Boundary. What other processes use of the same limits shows at the commit; it is then decided anew."""
        for _ in range(RESERVATIONS):
            ruling = self._ruled(caller, facts)
            args = partial(self._evidence.request, caller.principal, facts, ruling.verdict)
            try:
                return await self._answered(caller, facts, ruling, args)
            except SpentError as spent:
                self._ledger.adopt(caller.principal, spent)
        verdict = failed("its limits are in use by too many at once")
        return self._told(caller, verdict, answer_of(verdict, facts, caller))

    def _ruled(self, caller: Caller, facts: RequestFacts) -> Ruling:
        ruling = self._decider.rule(caller.principal, facts, self._now(), self._evidence.credentials(facts))
        if ruling.fault:
            self._report(ruling.fault)
        return ruling

    async def refuse(
        self, caller: Caller, attempt: Attempt, code: Reason, reason: str, *, status: int | None = None
    ) -> Answer:
        """See Boundary. A stranger's refusal has no receipt: it must not fill the store (design.md section 4)."""
        verdict = Verdict(Decision.DENY, code, reason)
        if not caller.principal:
            return self._told(caller, verdict, answer_of(verdict, attempt, caller, status=status))
        ruling = Ruling(verdict, self.rules, self.rules.grants.get(caller.principal))
        args = partial(self._evidence.attempt, caller.principal, attempt, reason)
        return await self._answered(caller, attempt, ruling, args, status)

    async def complete(self, answer: Answer, outcome: Outcome) -> None:
        """See Boundary. Where the store fails the completion is owed, and follows when the store works again."""
        allowed = self._open.pop(answer.decision_id, None)
        if allowed is None:
            return
        spends = self._ledger.settle(allowed.reservation, outcome.bytes_sent) if allowed.reservation else ()
        self._seen(lambda: self._observer.completed(allowed.caller.principal, allowed.effect, outcome))
        closing = self._completion(allowed.draft, allowed.receipt_id, allowed.caller, outcome)
        await self._recorder.settled(self._recorder.owe(closing, spends))

    async def close(self) -> None:
        """Write the folds that are still open, so that a stop loses no count, and let the watchdog go. The store stays open."""
        await self._folds.close()
        self._decider.close()

    async def _answered(
        self, caller: Caller, target: Target, ruling: Ruling, args: Args, status: int | None = None
    ) -> Answer:
        """The answer to a ruling once its receipt is durable; whatever fails on the way is a refusal."""
        try:
            verdict, answer = await self._recorded(caller, target, ruling, args(), status)
        except BaseException as fault:
            if ruling.reservation:
                self._ledger.release(ruling.reservation)
            if isinstance(fault, asyncio.CancelledError | SpentError):
                raise
            self._report(fault)
            verdict = failed("its receipt could not be made durable")
            answer = answer_of(verdict, target, caller)
        return self._told(caller, verdict, answer, ruling.seconds)

    async def _recorded(
        self, caller: Caller, target: Target, ruling: Ruling, args: dict[str, object], status: int | None
    ) -> tuple[Verdict, Answer]:
        verdict = ruling.verdict
        if not verdict.allowed and not self._folds.take(caller.principal):
            folded = self._folds.fold(caller.principal, verdict, args)
            return folded, answer_of(folded, target, caller)
        draft = self._draft(caller, ruling, args)
        spends = ruling.reservation.spends if ruling.reservation else ()
        began = time.perf_counter()
        sealed = await self._recorder.durable(draft, spends, partial(self._unsent, draft, caller, ruling))
        self._seen(lambda: self._observer.committed(time.perf_counter() - began))
        if verdict.effect:
            self._open[draft.decision_id] = _Allowed(
                draft, sealed.receipt_id, caller, verdict.effect, ruling.reservation
            )
        return verdict, answer_of(
            verdict,
            target,
            caller,
            decision_id=draft.decision_id,
            receipt_id=sealed.receipt_id,
            status=status,
            upload_left=ruling.reservation.upload_left if ruling.reservation else None,
        )

    def _draft(self, caller: Caller, ruling: Ruling, args: dict[str, object]) -> Draft:
        return drafts.decision(
            timestamp=rfc3339(self._now()),
            suffix=fresh_suffix(),
            session_id=caller.session_id,
            verdict=ruling.verdict,
            args=args,
            policy=drafts.policy_of(ruling.rules, ruling.grant, ruling.verdict, self._evidence),
        )

    def _completion(self, draft: Draft, receipt_id: str, caller: Caller, outcome: Outcome) -> Draft:
        return drafts.completion(
            timestamp=rfc3339(self._now()),
            allowed=draft,
            receipt_id=receipt_id,
            principal=caller.principal,
            output=outcome.facts(),
        )

    def _unsent(self, draft: Draft, caller: Caller, ruling: Ruling, sealed: Sealed) -> None:
        """Close an ALLOW that became durable when nobody waited for it any more. Called on the store's thread."""
        if draft.verdict == Decision.ALLOW:
            returned = ruling.reservation.correction({}) if ruling.reservation else ()
            self._recorder.owe(self._completion(draft, sealed.receipt_id, caller, UNSENT), returned)

    def _told(self, caller: Caller, verdict: Verdict, answer: Answer, seconds: float = 0.0) -> Answer:
        self._seen(lambda: self._observer.decided(caller.principal, verdict, seconds))
        if left := self._ledger.remaining(caller.principal):
            self._seen(lambda: self._observer.remaining(caller.principal, left))
        return answer

    def _seen(self, look: Callable[[], None]) -> None:
        try:
            look()
        except Exception as fault:
            self._report(fault)
