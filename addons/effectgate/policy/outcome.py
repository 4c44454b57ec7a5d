"""What a set of matches comes to under a grant: who admits, or what to ask for (design.md section 2, rules 2 to 4).

An outcome does not depend on the words of a request, only on which shapes match it and how, and on which narrowed effects are held
for it, unless the path has several readings. So those of one reading are remembered, and weighing costs a look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from effectgate.policy.admission import Admission, most_specific
from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect
from effectgate.policy.facts import RequestFacts
from effectgate.policy.grant import Grant
from effectgate.policy.recognition import Match
from effectgate.policy.verdict import Named

# Remembered outcomes of one catalog. Their number is bounded by its overlaps; the cap only guards against the unforeseen.
MAX_OUTCOMES = 8192
# Pairs of an effect that names a request and one that could block it. Only a catalogue of `*` over each other has more.
MAX_PAIRS = 8192


@dataclass(frozen=True, slots=True)
class Ask:
    """One effect that names the request and would admit it together with `also`; `held` where the grant has it already."""

    effect: Effect
    also: tuple[str, ...]
    within_ceiling: bool
    held: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """`admitting` is the place of the admitting match, or -1; `asks` are empty where it admits. `ports_open`: its shapes name ports."""

    named: tuple[Named, ...]
    admitting: int = -1
    ports_open: bool = False
    asks: tuple[Ask, ...] = ()
    secret: frozenset[str] = frozenset()
    template: str = ""


def overgrown(matches: Sequence[Match]) -> bool:
    """Whether there are too many effects to be weighed against each other; then nothing is admitted, whatever the grant."""
    return len(matches) > 64 and len({m.effect.id for m in matches if m.named}) * len(matches) > MAX_PAIRS


def weigh(
    catalog: Catalog, grant: Grant, matches: Sequence[Match], facts: RequestFacts, credentials: frozenset[str]
) -> Outcome:
    """The outcome, remembered where it is the same for every request that these shapes match in this way."""
    if not facts.readings.linear:
        return _weigh(catalog, grant, matches, Admission(matches, facts, grant.entries, credentials))
    key: tuple[object, ...] = (grant, *[(match.entry, match.named, match.sure) for match in matches])
    narrowed = [m.effect.id for m in matches if m.effect.id in grant.narrowed] if grant.narrowed else ()
    admission = Admission(matches, facts, grant.entries, credentials) if narrowed else None
    if admission is not None:  # what a scope or a pinned credential makes of this request is whether the effect is held
        key = (*key, *[admission.holds(effect) for effect in narrowed])
    known = catalog.outcomes.get(key)
    if not isinstance(known, Outcome):
        if len(catalog.outcomes) >= MAX_OUTCOMES:
            catalog.outcomes.clear()
        admission = admission or Admission(matches, facts, grant.entries, credentials)
        known = catalog.outcomes[key] = _weigh(catalog, grant, matches, admission)
    return known


def weigh_expired(catalog: Catalog, grant: Grant, matches: Sequence[Match], facts: RequestFacts) -> Outcome:
    """The outcome under a grant that holds nothing any more: what to ask for in a new one."""
    return _weigh(catalog, grant, matches, Admission(matches, facts, {}, frozenset()))


def _weigh(catalog: Catalog, grant: Grant, matches: Sequence[Match], admission: Admission) -> Outcome:
    named = sorted((match for match in matches if match.named), key=lambda match: match.entry.rank)
    effects = {match.effect.id: match.effect for match in named}
    admitting = admission.admitting()
    return Outcome(
        named=tuple(Named(effect.id, effect.title, effect.risk) for effect in effects.values()),
        admitting=matches.index(most_specific(admitting)) if admitting else -1,
        ports_open=any(match.shape.ports_explicit for match in admitting),
        asks=() if admitting else _asks(catalog, admission, grant, named),
        secret=frozenset[str]().union(*(match.shape.secret for match in matches)),
        template=named[0].shape.path.text if named else "",
    )


def _asks(catalog: Catalog, admission: Admission, grant: Grant, named: Sequence[Match]) -> tuple[Ask, ...]:
    """One ask an effect, ordered by the top risk of its set, then specificity, then id."""
    most = {match.effect.id: match for match in reversed(named)}
    asks = [_ask(catalog, admission, grant, match.effect) for match in most.values()]

    def order(ask: Ask) -> tuple[object, ...]:
        top = max(catalog.effects[e].risk for e in (ask.effect.id, *ask.also))
        return top, most[ask.effect.id].entry.specificity, ask.effect.id

    return tuple(sorted(asks, key=order))


def _ask(catalog: Catalog, admission: Admission, grant: Grant, effect: Effect) -> Ask:
    also = tuple(sorted(admission.blocking(effect.id)))
    within = all(grant.ceiling.admits(catalog.effects[e]) == "" for e in (effect.id, *also))
    return Ask(effect, also, within, admission.holds(effect.id))
