"""A boundary that decides by table and remembers what it was asked."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

from effectgate.boundary import Answer, Attempt, Caller, Outcome
from effectgate.policy.facts import RequestFacts
from effectgate.policy.vocabulary import STATUS, Decision, Reason

Rule = Callable[[RequestFacts], bool]


class FakeBoundary:
    """Allows what `allow` says; everything else is INSUFFICIENT_PRIVILEGE."""

    def __init__(self) -> None:
        self.allow: Rule = lambda facts: facts.host.startswith("allowed.") and not facts.path.startswith("/denied")
        self.inspect: Callable[[RequestFacts], int] = lambda facts: 0
        self.before: Callable[[RequestFacts], None] = lambda facts: None
        self.delay = 0.0
        self.upload_left: int | None = None
        self.gone: set[str] = set()
        self.submitted: list[RequestFacts] = []
        self.refused: list[tuple[str, Attempt, Reason, str]] = []
        self.completed: list[tuple[Answer, Outcome]] = []
        self._ids = itertools.count(1)

    def inspect_bytes(self, caller: Caller, facts: RequestFacts) -> int:
        return self.inspect(facts)

    async def submit(self, caller: Caller, facts: RequestFacts) -> Answer:
        self.submitted.append(facts)
        self.before(facts)
        await asyncio.sleep(self.delay)
        if self.allow(facts):
            return self._answer(Decision.ALLOW, Reason.NONE, "", 200, caller, Attempt())
        attempt = Attempt(facts.method, facts.scheme, facts.host, facts.port, facts.path)
        return self._answer(Decision.DENY, Reason.INSUFFICIENT_PRIVILEGE, "no such grant", 403, caller, attempt)

    async def refuse(
        self, caller: Caller, attempt: Attempt, code: Reason, reason: str, *, status: int | None = None
    ) -> Answer:
        self.refused.append((caller.principal, attempt, code, reason))
        return self._answer(Decision.DENY, code, reason, status or STATUS[code], caller, attempt)

    async def complete(self, answer: Answer, outcome: Outcome) -> None:
        self.completed.append((answer, outcome))

    def admitted(self, principal: str) -> bool:
        return principal not in self.gone

    def _answer(
        self, verdict: Decision, code: Reason, reason: str, status: int, caller: Caller, attempt: Attempt
    ) -> Answer:
        receipt = f"r-{next(self._ids)}"
        headers = (
            ("X-Effectgate-Verdict", str(verdict)),
            ("X-Effectgate-Reason", str(code)),
            ("X-Effectgate-Receipt", receipt),
        )
        body = {
            "verdict": str(verdict), "reason_code": str(code), "reason": reason, "receipt_id": receipt,
            "request": {"method": attempt.method, "host": attempt.host, "port": attempt.port, "path": attempt.path},
            "would_admit": [{"effect": "test/effect", "title": "Test", "risk": "publish", "where": {}}],
            "next_step": "ask", "principal": caller.principal,
        }  # fmt: skip
        allowed = verdict is Decision.ALLOW
        return Answer(
            verdict, code, reason, status, "test/effect" if allowed else None, receipt, receipt, {} if allowed else body,
            tuple(pair for pair in headers if pair[1]), self.upload_left,
        )  # fmt: skip
