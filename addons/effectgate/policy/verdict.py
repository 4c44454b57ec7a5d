"""What a decision is: values only, so that every caller may hold one and only `decision` makes one (design.md section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from effectgate.policy.vocabulary import Decision, Reason, Risk

# A parameter's value or values as a refusal shows them: plain text, or {"is": text} where text itself has a `*`.
WhereValue = str | Mapping[str, str] | tuple[str | Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Named:
    """An effect that names the request."""

    effect: str
    title: str
    risk: Risk


@dataclass(frozen=True, slots=True)
class Proposal:
    """One entry of `would_admit`: granting `effect` with `where`, together with every id in `also`, admits the request."""

    effect: str
    title: str
    risk: Risk
    where: Mapping[str, WhereValue] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    within_ceiling: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one request. On DENY `effect` is None and `reason` is a sentence for the agent."""

    verdict: Decision
    reason_code: Reason
    reason: str
    effect: str | None = None
    risk: Risk | None = None
    recognised: tuple[Named, ...] = ()
    would_admit: tuple[Proposal, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)  # of the admitting shape, `secret` ones left out
    secret: frozenset[str] = frozenset()  # names of secret parameters of every shape that names the request
    template: str = ""  # the path pattern of the most specific naming shape, for receipts with path: template

    @property
    def allowed(self) -> bool:
        """True only for ALLOW."""
        return self.verdict is Decision.ALLOW
