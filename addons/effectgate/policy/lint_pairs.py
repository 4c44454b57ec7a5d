"""Hazards that two patterns make together: overlaps, shadowing, and names that stand at several risks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from effectgate.policy.catalog import Catalog
from effectgate.policy.containment import carriers, contained, overlaps
from effectgate.policy.effect import Effect, Patterns, Shape
from effectgate.policy.fault import Fault
from effectgate.policy.neighbours import Placed, neighbours, placed
from effectgate.policy.pack import Pack


def pair_hazards(packs: Sequence[Pack], catalog: Catalog) -> Iterator[Fault]:
    """Every hazard between two shapes, two tools or two commands."""
    for one, two in neighbours(placed(packs, catalog)):
        yield from _between(one, two)
    yield from _split_names(packs, "tool", "mcp_tools")
    yield from _split_names(packs, "command", "commands")


def _between(one: Placed, two: Placed) -> Iterator[Fault]:
    if not _may_meet(one.shape, two.shape):
        return
    for inner, outer in ((one, two), (two, one)):
        if contained(inner.shape, outer.shape):
            yield from _shadowed(inner, outer)
            return
    if one.effect.risk != two.effect.risk and overlaps(one.shape, two.shape):
        low, high = sorted((one, two), key=lambda row: row.effect.risk)
        message = f"{low.effect.id} and the riskier {high.effect.id} match some of the same requests, neither all of the other's"
        yield low.fault(message, "narrow one of the two, so that its requests are its own", "overlap")


def _may_meet(one: Shape, two: Shape) -> bool:
    """A cheap test before the exact ones: methods, literal values."""
    if one.methods and two.methods and not one.methods & two.methods:
        return False
    return not any(_values_differ(mine, its) for mine, its in zip(carriers(one), carriers(two), strict=True))


def _values_differ(one: Patterns, two: Patterns) -> bool:
    """Whether both ask one name for literal values, and none in common (letter case aside)."""
    for name in one.keys() & two.keys():
        values = (*one[name], *two[name])
        mine, its = ({value.text.casefold() for value in rows[name]} for rows in (one, two))
        if not any(value.wild for value in values) and not mine & its:
            return True
    return False


def _shadowed(inner: Placed, outer: Placed) -> Iterator[Fault]:
    if inner.effect is outer.effect:
        if not outer.shape.vouch:
            path = inner.shape.path.text
            yield inner.fault(
                f"the shape {path} of {inner.effect.id} lies within another of it", "remove it", "redundant"
            )
        return
    if inner.effect.risk == outer.effect.risk and not inner.effect.reserved:
        message = f"{outer.effect.id} admits all that this shape of {inner.effect.id} does, at the same risk"
        yield inner.fault(message, "narrow the wider one, or make this effect reserved", "shadowed")


def _split_names(packs: Sequence[Pack], what: str, key: str) -> Iterator[Fault]:
    """Names that effects of several risks list: the call does not tell which of them it is."""
    rows: dict[str, list[tuple[Pack, Effect]]] = {}
    for pack in packs:
        for effect in pack.effects:
            for name in dict.fromkeys(_names(effect, key)):
                rows.setdefault(name, []).append((pack, effect))
    for name, found in rows.items():
        if len({effect.risk for _, effect in found}) > 1:
            pack, effect = min(found, key=lambda row: (row[1].risk, row[1].id))
            ids = ", ".join(sorted(other.id for _, other in found))
            path = (*pack.effect_path(effect), "matches", key)
            yield pack.document.fault(
                path, f"the {what} {name} is listed at several risks: {ids}", "keep one", f"{what}-risks"
            )


def _names(effect: Effect, key: str) -> Iterable[str]:
    return effect.tools if key == "mcp_tools" else effect.commands
