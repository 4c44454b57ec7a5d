"""One request held against the rulebook and the limits; whatever fails in there is a refusal (design.md section 4)."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from dataclasses import dataclass
from datetime import datetime

from effectgate.policy.facts import RequestFacts
from effectgate.policy.grant import Grant
from effectgate.policy.rulebook import Decide, Rulebook
from effectgate.policy.sentence import no_grant
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import Decision, Reason
from effectgate.receipts.limits import Exhausted
from effectgate.receipts.store_limits import Ledger, Reservation
from effectgate.watchdog import Watchdog

NO_CREDENTIALS: frozenset[str] = frozenset()


class VerdictError(Exception):
    """The decision answered with something that is no verdict."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict, and what its receipt and its completion need: the rules it came from, and what it reserved."""

    verdict: Verdict
    rules: Rulebook
    grant: Grant | None
    reservation: Reservation | None = None
    fault: BaseException | None = None  # why the verdict is PDP_ERROR; for the operator, never for the agent
    seconds: float = 0.0  # how long deciding took


class Decider:
    """`rules` may be assigned at any time: a decision takes it once. `rule` never raises, except for cancellation."""

    def __init__(self, rules: Rulebook, decide: Decide, ledger: Ledger, watchdog: Watchdog) -> None:
        self.rules = rules
        self._decide = decide
        self._ledger = ledger
        self._watchdog = watchdog

    def rule(
        self, principal: str, facts: RequestFacts, now: datetime, credentials: frozenset[str] = NO_CREDENTIALS
    ) -> Ruling:
        """The verdict on a request, its limits reserved where it is an ALLOW."""
        began = time.perf_counter()
        ruling = self._ruled(principal, facts, now, credentials)
        return dataclasses.replace(ruling, seconds=time.perf_counter() - began)

    def inspect_bytes(self, facts: RequestFacts) -> int:
        """How much of the body the candidate shapes ask to hold. May raise anything, HangError among it."""
        with self._watchdog.guard():
            return self.rules.catalog.inspect_bytes(facts)

    def close(self) -> None:
        """Let the watchdog go."""
        self._watchdog.close()

    def _ruled(self, principal: str, facts: RequestFacts, now: datetime, credentials: frozenset[str]) -> Ruling:
        rules, grant = self.rules, self.rules.grants.get(principal)
        try:
            with self._watchdog.guard():
                verdict = self._decide(
                    rules.catalog,
                    grant or rules.grant(principal),
                    facts,
                    now=now,
                    ports=rules.ports,
                    credentials=credentials,
                )
            if grant is None and verdict.reason_code is Reason.NO_POLICY_DEFINED:
                verdict = dataclasses.replace(verdict, reason=no_grant(principal))
            return self._limited(_well_formed(verdict), rules, grant, facts, now)
        except asyncio.CancelledError:
            raise
        except BaseException as fault:  # nothing that goes wrong in here may let a request pass
            return Ruling(failed("the decision failed"), rules, grant, fault=fault)

    def _limited(
        self, verdict: Verdict, rules: Rulebook, grant: Grant | None, facts: RequestFacts, now: datetime
    ) -> Ruling:
        if not verdict.allowed:
            return Ruling(verdict, rules, grant)
        if grant is None:
            raise VerdictError("the decision allowed what no grant holds")
        held = self._ledger.reserve(grant.principal, grant.limits, upload_size(facts), now)
        if isinstance(held, Exhausted):
            spent = Verdict(
                Decision.DENY,
                Reason.BUDGET_EXCEEDED,
                held.sentence(),
                recognised=verdict.recognised,
                secret=verdict.secret,
                template=verdict.template,
            )
            return Ruling(spent, rules, grant)
        return Ruling(verdict, rules, grant, held)


def failed(what: str) -> Verdict:
    """The verdict where something broke: nothing was sent, and nothing says why to the agent."""
    return Verdict(Decision.DENY, Reason.PDP_ERROR, f"The request was refused because {what}; nothing was sent.")


def _well_formed(verdict: object) -> Verdict:
    """The verdict, if it is one and says which effect it allows."""
    if not isinstance(verdict, Verdict):
        raise VerdictError(f"the decision answered with a {type(verdict).__name__}")
    if verdict.allowed != (verdict.effect is not None) or verdict.allowed != (verdict.reason_code is Reason.NONE):
        raise VerdictError("the decision answered with a verdict that contradicts itself")
    return verdict


def upload_size(facts: RequestFacts) -> int | None:
    """The size of the body in bytes, as held or as announced (RFC 9110 section 8.6); None where only its end will tell.

    What a websocket sends is upload too, and has no end that could be announced.
    """
    if facts.websocket:
        return None
    if not facts.body.present:
        return 0
    if facts.body.content is not None:
        return len(facts.body.content)
    announced = facts.header("content-length")
    return int(announced[0]) if len(announced) == 1 and announced[0].isascii() and announced[0].isdigit() else None
