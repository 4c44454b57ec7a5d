"""One verdict from those of a request's parts: admitted if every part is (design.md section 2, rule 5)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from effectgate.policy.verdict import Named, Proposal, Verdict, WhereValue
from effectgate.policy.vocabulary import Reason

# The reason of the whole is that of its worst part: what cannot be decided, what no grant can include, what this one does not.
_WORST_FIRST = (
    Reason.PDP_ERROR,
    Reason.ENVELOPE_INVALID,
    Reason.NO_POLICY_DEFINED,
    Reason.SANDBOX_VIOLATION,
    Reason.DATA_EGRESS_BLOCKED,
    Reason.INSUFFICIENT_PRIVILEGE,
    Reason.APPROVAL_REQUIRED,
)


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a request of these parts, at least one; the receipt names the riskiest of what is admitted."""
    if len(verdicts) == 1:
        return verdicts[0]
    refused = [verdict for verdict in verdicts if not verdict.allowed]
    known = dict.fromkeys(named for verdict in verdicts for named in verdict.recognised)
    whole = _refused(verdicts, refused) if refused else max(verdicts, key=_risk)
    return dataclasses.replace(
        whole, recognised=_once(known), secret=frozenset[str]().union(*(verdict.secret for verdict in verdicts))
    )


def _risk(verdict: Verdict) -> int:
    return -1 if verdict.risk is None else verdict.risk


def _once(named: Iterable[Named]) -> tuple[Named, ...]:
    return tuple({one.effect: one for one in named}.values())


def _refused(verdicts: Sequence[Verdict], refused: Sequence[Verdict]) -> Verdict:
    worst = min(refused, key=lambda verdict: _WORST_FIRST.index(verdict.reason_code))
    place = f"Part {verdicts.index(worst) + 1} of {len(verdicts)}: "
    asks = _union(refused) if all(verdict.would_admit for verdict in refused) else ()
    return dataclasses.replace(worst, reason=place + worst.reason, would_admit=asks)


def _union(refused: Sequence[Verdict]) -> tuple[Proposal, ...]:
    """Each part's asks; where one alone leaves another part refused, `also` has the first ask of that part as well."""
    first: dict[str, Proposal] = {}
    for verdict in refused:
        for ask in verdict.would_admit:
            known = first.get(ask.effect)
            first[ask.effect] = ask if known is None else _merged(known, ask)
    return tuple(_complete(ask, refused) for ask in first.values())


def _merged(one: Proposal, two: Proposal) -> Proposal:
    """One ask for the same effect in two parts: the values of both."""
    where = {name: _values(one.where[name], two.where[name]) for name in one.where if name in two.where}
    also = tuple(sorted({*one.also, *two.also}))
    return dataclasses.replace(one, where=where, also=also, within_ceiling=one.within_ceiling and two.within_ceiling)


def _values(one: WhereValue, two: WhereValue) -> WhereValue:
    every: list[str | Mapping[str, str]] = []
    for value in (one, two):
        every += [item for item in (value if isinstance(value, tuple) else (value,)) if item not in every]
    return every[0] if len(every) == 1 else tuple(every)


def _complete(ask: Proposal, refused: Sequence[Verdict]) -> Proposal:
    wanted = {ask.effect, *ask.also}
    within = ask.within_ceiling
    for verdict in refused:
        if not any({other.effect, *other.also} <= wanted for other in verdict.would_admit):
            wanted |= {verdict.would_admit[0].effect, *verdict.would_admit[0].also}
            within = within and verdict.would_admit[0].within_ceiling
    return dataclasses.replace(ask, also=tuple(sorted(wanted - {ask.effect})), within_ceiling=within)
