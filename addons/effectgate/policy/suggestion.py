"""A grant that is suggested to a person, before it is anyone's: what it would hold and why, and what it leaves out and why.

Pure. `goal`, `traffic` and `allowlist` make wishes; `suggest` holds them against the catalogue and a ceiling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect
from effectgate.policy.lattice import Ceiling
from effectgate.policy.scope import Where


@dataclass(frozen=True, slots=True)
class Wish:
    """One effect that something asks for, the values that narrow it, and the reason in words."""

    effect: str
    reason: str
    where: Where


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the suggestion does not hold: an effect id, a host or a request, and the sentence that says why and what to do."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Suggested:
    """One entry of the suggested grant. `reasons` are distinct, in the order in which they came."""

    effect: Effect
    where: Where
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The whole of it. Without `entries` there is nothing to grant."""

    ceiling: Ceiling
    entries: tuple[Suggested, ...]
    left_out: tuple[LeftOut, ...]


class CeilingError(ValueError):
    """There is no such ceiling, or none at all. The message names the remedy."""


def suggest(
    catalog: Catalog,
    ceilings: Mapping[str, Ceiling],
    wishes: Iterable[Wish],
    left_out: Iterable[LeftOut] = (),
    *,
    ceiling: str | None = None,
    scope: Where | None = None,
) -> Suggestion:
    """The wishes as entries under a ceiling: the named one, else the least that holds them all, else the one that holds most.

    `scope` narrows every entry whose effect binds its parameters. Raises CeilingError.
    """
    whole = _merged(catalog, wishes, scope or {})
    effects = [entry.effect for entry in whole]
    chosen = _named(ceilings, ceiling) if ceiling is not None else least_ceiling(catalog, ceilings, effects)
    reasons = [(entry, _unfit(chosen, entry)) for entry in whole]
    return Suggestion(
        chosen,
        tuple(entry for entry, reason in reasons if not reason),
        _once([*left_out, *(LeftOut(entry.effect.id, reason) for entry, reason in reasons if reason)]),
    )


def least_ceiling(catalog: Catalog, ceilings: Mapping[str, Ceiling], effects: Sequence[Effect]) -> Ceiling:
    """The ceiling that holds most of these effects; among equals the least risky, then that of the fewest effects at all."""
    if not ceilings:
        raise CeilingError("there is no ceiling to propose a grant under; add effects/ceilings/NAME.toml")
    held = {name: sum(not c.admits(effect) for effect in effects) for name, c in ceilings.items()}
    best = [name for name in ceilings if held[name] == max(held.values())]
    lowest = min(ceilings[name].max_risk for name in best)
    best = [name for name in best if ceilings[name].max_risk == lowest]
    return ceilings[min(best, key=lambda name: (_breadth(catalog, ceilings[name]) if len(best) > 1 else 0, name))]


def _breadth(catalog: Catalog, ceiling: Ceiling) -> int:
    return sum(not ceiling.admits(effect) for effect in catalog.effects.values())


def _named(ceilings: Mapping[str, Ceiling], name: str) -> Ceiling:
    if name not in ceilings:
        raise CeilingError(
            f"there is no ceiling {name}; write one of {', '.join(ceilings) or 'effects/ceilings/*.toml'}"
        )
    return ceilings[name]


def _merged(catalog: Catalog, wishes: Iterable[Wish], scope: Where) -> list[Suggested]:
    """One entry an effect and scope; an entry without scope takes in the narrower ones of its effect."""
    found: dict[tuple[str, str], Suggested] = {}
    for wish in wishes:
        effect = catalog.effects[wish.effect]
        where = {**wish.where, **{name: values for name, values in scope.items() if binds(effect, name)}}
        key = (effect.id, repr(sorted(where.items())))
        known = found.get(key, Suggested(effect, where, ()))
        found[key] = Suggested(effect, where, tuple(dict.fromkeys((*known.reasons, wish.reason))))
    open_ids = {entry.effect.id for entry in found.values() if not entry.where}
    return [entry for entry in found.values() if not entry.where or entry.effect.id not in open_ids]


def binds(effect: Effect, name: str) -> bool:
    """Whether a `where` of this effect may name the parameter."""
    return effect.parameters is None or name in effect.parameters


def _unfit(ceiling: Ceiling, entry: Suggested) -> str:
    if reason := ceiling.admits(entry.effect):
        return f"{reason}; choose another with --ceiling"
    unscoped = sorted(entry.effect.tenant - set(entry.where))
    if unscoped:
        return f"its host is anyone's account: say whose with --where {unscoped[0]}=VALUE"
    return ""


def _once(items: Iterable[LeftOut]) -> tuple[LeftOut, ...]:
    return tuple(dict.fromkeys(items))
