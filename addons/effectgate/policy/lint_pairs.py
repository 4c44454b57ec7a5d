"""Hazards that two patterns make together: overlaps, shadowing, and names that stand at several risks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from effectgate.policy.catalog import Catalog
from effectgate.policy.containment import carriers, contained, overlaps
from effectgate.policy.effect import Effect, Patterns, Shape
from effectgate.policy.fault import Fault
from effectgate.policy.host import HostPattern
from effectgate.policy.neighbours import Placed, neighbours, placed
from effectgate.policy.pack import Pack


@dataclass(frozen=True, slots=True, eq=False)
class _Finding:
    """A hazard before it is known to be the first of its kind and words: only that one is told."""

    at: Placed
    kind: str
    message: str
    fix: str
    detail: str = ""  # told, and no part of the words


def pair_hazards(packs: Sequence[Pack], catalog: Catalog) -> Iterator[Fault]:
    """Every hazard between two shapes, two tools or two commands."""
    rows = placed(packs, catalog)
    order = {row: at for at, row in enumerate(rows)}
    first: dict[tuple[str, str], _Finding] = {}
    covered: dict[Placed, set[Placed]] = {}
    for one, two in neighbours(rows):
        for found in _between(one, two, covered):
            known = first.setdefault((found.kind, found.message), found)
            if order[found.at] < order[known.at]:
                first[found.kind, found.message] = found
    for found in (*first.values(), *_coverings(covered), *_wide_hosts(rows)):
        yield found.at.fault(found.message + found.detail, found.fix, found.kind)
    yield from _split_names(packs, "tool", "mcp_tools")
    yield from _split_names(packs, "command", "commands")


def _between(one: Placed, two: Placed, covered: dict[Placed, set[Placed]]) -> Iterator[_Finding]:
    """What two shapes make together; within one effect only `covered` is told which lies within which."""
    if not _may_meet(one.shape, two.shape):
        return
    for inner, outer in ((one, two), (two, one)):
        if contained(inner.shape, outer.shape):
            if inner.effect is not outer.effect:
                yield from _shadowed(inner, outer)
            elif not outer.shape.vouch and _asks_no_more(outer.shape, inner.shape):
                covered.setdefault(outer, set()).add(inner)
            return
    if one.effect.risk != two.effect.risk and _clash(one.shape, two.shape):
        low, high = sorted((one, two), key=lambda row: row.effect.risk)
        message = f"{low.effect.id} and the riskier {high.effect.id} match some of the same requests, neither all of the other's"
        detail = f": {low.shape.path.text} and {high.shape.path.text}"
        yield _Finding(low, "overlap", message, "narrow one of the two, so that its requests are its own", detail)


def _clash(one: Shape, two: Shape) -> bool:
    """Whether they overlap in requests that one would send for the other's sake.

    Where each asks for something of which the other says nothing (an action in the form, `?acl`), or rules out what the other
    asks for, a request of both states two acts at once; to refuse that is what blocking is for.
    """
    mine, its = _asked(one), _asked(two)
    if (mine - its and its - mine) or _rules_out(one, two) or _rules_out(two, one):
        return False
    return overlaps(one, two)


def _asked(shape: Shape) -> frozenset[tuple[int, str]]:
    """What the shape asks of a request beyond its method and place: carriers and names."""
    asked = {(carrier, name) for carrier, table in enumerate(carriers(shape)) for name in table}
    return frozenset(asked if shape.graphql is None else asked | {(len(carriers(shape)), shape.graphql.operation)})


def _rules_out(one: Shape, two: Shape) -> bool:
    """Whether no request of the second, as it is written, is one of the first."""
    allowed = one.query_only
    return bool(one.absent & two.headers.keys()) or (allowed is not None and not two.query.keys() <= allowed)


def _asks_no_more(outer: Shape, inner: Shape) -> bool:
    """Whether the outer shape also has no condition that the inner one lacks, and nothing is kept secret by the inner alone."""
    narrow = outer.query_only is None or (inner.query_only is not None and inner.query_only <= outer.query_only)
    opened = all((outer.body or not inner.body, outer.encoded_slash or not inner.encoded_slash))
    return narrow and opened and outer.absent <= inner.absent and inner.secret <= outer.secret


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


def _shadowed(inner: Placed, outer: Placed) -> Iterator[_Finding]:
    if inner.effect.risk == outer.effect.risk and not inner.effect.reserved:
        message = f"{outer.effect.id} admits all that this shape of {inner.effect.id} does, at the same risk"
        yield _Finding(inner, "shadowed", message, "narrow the wider one, or make this effect reserved")


def _coverings(covered: dict[Placed, set[Placed]]) -> Iterator[_Finding]:
    """A shape that makes others of its effect needless: told once, at the wide one."""
    for outer, inners in covered.items():
        within = sorted(inner.shape.path.text for inner in inners)
        more = f" and {len(within) - 1} more" if len(within) > 1 else ""
        message = f"the shape {outer.shape.path.text} of {outer.effect.id} covers its neighbour {within[0]}{more}"
        yield _Finding(outer, "covering", message, "remove what it covers, or narrow it")


def _wide_hosts(rows: Sequence[Placed]) -> Iterator[_Finding]:
    """A host with a `*` that covers a host by which another effect knows a service."""
    named: dict[HostPattern, list[Placed]] = {}
    for row in rows:
        named.setdefault(row.shape.host, []).append(row)
    for wide, here in named.items():
        effects = {row.effect.id: row for row in here}
        covers = [host for host in named if wide.wild and host is not wide and host.included(wide)]
        for row in effects.values():
            theirs = [other for host in covers for other in named[host] if other.effect.id not in effects]
            if theirs:
                other = min(theirs, key=lambda found: (found.shape.host.text, found.effect.id))
                message = (
                    f"{row.effect.id} reaches {wide.text}, among them {other.shape.host.text} of {other.effect.id}"
                )
                yield _Finding(row, "wide-host", message, "name the hosts of its own service")


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
