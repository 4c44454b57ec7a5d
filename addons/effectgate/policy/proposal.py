"""`would_admit`: the asks of an outcome with the request's own values as literals (design.md section 2, rule 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from effectgate.policy.catalog import Catalog
from effectgate.policy.outcome import Ask
from effectgate.policy.recognition import Match
from effectgate.policy.verdict import Proposal, WhereValue

NOWHERE: Mapping[str, WhereValue] = {}


def proposals(catalog: Catalog, asks: Sequence[Ask], matches: Sequence[Match]) -> tuple[Proposal, ...]:
    """One proposal an ask, in order. What the grant holds already is not narrowed again."""
    return tuple(
        Proposal(
            ask.effect.id,
            ask.effect.title,
            ask.effect.risk,
            NOWHERE if ask.held else _where(ask, matches, catalog.parameters(ask.effect.id)),
            ask.also,
            ask.within_ceiling,
        )
        for ask in asks
    )


def _where(ask: Ask, matches: Sequence[Match], shared: frozenset[str]) -> Mapping[str, WhereValue]:
    """Values of the parameters that every shape and every match binds, on every reading."""
    if not shared:
        return NOWHERE
    values: dict[str, set[str]] = {name: set() for name in shared}
    for match in matches:
        if match.effect is ask.effect:
            _gather(match, values)
    return {name: _spelled(tuple(sorted(values[name]))) for name in sorted(values)}


def _gather(match: Match, values: dict[str, set[str]]) -> None:
    bound = match.values()
    for name in list(values):
        if taken := bound.get(name):
            values[name].update(taken)
        else:
            del values[name]


def _spelled(texts: tuple[str, ...]) -> WhereValue:
    spelled = tuple({"is": text} if "*" in text else text for text in texts)
    return spelled[0] if len(spelled) == 1 else spelled
