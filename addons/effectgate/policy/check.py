"""The faults that only show between packs (design.md section 2, "Faults"). Each is told at the pack that should give way."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from effectgate.policy.catalog import Catalog
from effectgate.policy.containment import contained
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.example import Examiner, Example, ExampleError
from effectgate.policy.fault import Fault
from effectgate.policy.host import HostPattern
from effectgate.policy.pack import Pack

# (effect, within): the effect may lie within that riskier effect of another pack; `exceptions:` of effectgate.yaml.
Exemption = tuple[str, str]


def check(packs: Sequence[Pack], exceptions: Collection[Exemption] = ()) -> list[Fault]:
    """Every fault between these packs, each of which has been read without one."""
    faults = list(_names(packs))
    if faults:
        return faults  # one id with two meanings: what follows has no answer
    catalog = Catalog.build([effect for pack in packs for effect in pack.effects])
    faults += _vouches(packs)
    faults += _contained(packs, catalog, frozenset(exceptions))
    faults += _changed_examples(packs, catalog)
    return faults


def _names(packs: Sequence[Pack]) -> Iterator[Fault]:
    first: dict[str, Pack] = {}
    for pack in packs:
        before = first.setdefault(pack.name, pack)
        if before is not pack:
            message = f"the pack {pack.name} is already in {before.document.file}, and with it its ids"
            yield pack.document.fault(
                ("plugin", "name"), message, "keep one of the files, or rename the pack and its file"
            )


def _vouches(packs: Sequence[Pack]) -> Iterator[Fault]:
    """Two effects without shapes that share a host: the less risky one would carry what the other is there to hold back."""
    by_host: dict[str, list[tuple[Pack, Effect]]] = {}
    for pack in packs:
        for effect in pack.effects:
            for host in effect.hosts if vouches(effect) else ():
                by_host.setdefault(host, []).append((pack, effect))
    told: set[tuple[str, str]] = set()
    for host, rows in by_host.items():
        riskiest = max((effect for _, effect in rows), key=lambda effect: effect.risk)
        for pack, effect in rows:
            if effect.risk < riskiest.risk and (effect.id, riskiest.id) not in told:
                told.add((effect.id, riskiest.id))
                yield _vouch_fault(pack, effect, riskiest, host)


def _vouch_fault(pack: Pack, effect: Effect, riskiest: Effect, host: str) -> Fault:
    path = (*pack.effect_path(effect), "lowers", "hosts")
    message = f"{effect.id} vouches for {host}, and so does the riskier {riskiest.id} ({riskiest.risk.word})"
    return pack.document.fault(path, message, "write shapes in matches.http for one of the two")


def vouches(effect: Effect) -> bool:
    """Whether the effect answers for whole hosts: it names some, and no shape. Sites alone, unset, answer for nothing yet."""
    return not effect.shapes and any(not host.startswith("@") for host in effect.hosts)


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """A shape with its effect and the pack they stand in."""

    pack: Pack
    effect: Effect
    shape: Shape


def _contained(packs: Sequence[Pack], catalog: Catalog, exceptions: frozenset[Exemption]) -> Iterator[Fault]:
    placed = [_Placed(p, e, s) for p in packs for e in p.effects for s in e.shapes or catalog.shapes(e.id)]
    by_host: dict[HostPattern, list[_Placed]] = {}
    for row in placed:
        by_host.setdefault(row.shape.host, []).append(row)
    wide = [host for host in by_host if host.wild or host.parameters]
    for host, rows in by_host.items():
        around = dict.fromkeys([host, *(wider for wider in wide if host.included(wider))])
        outer = [other for place in around for other in by_host[place]]
        if len({other.pack.name for other in outer}) > 1:  # what is contained in its own pack is no fault
            yield from _contained_faults(rows, outer, exceptions)


def _contained_faults(
    rows: Sequence[_Placed], around: Sequence[_Placed], exceptions: frozenset[Exemption]
) -> Iterator[Fault]:
    for row in rows:
        wider_effects = {other.effect.id: other for other in around if _holds(other, row)}
        for outer in wider_effects.values():
            if (row.effect.id, outer.effect.id) not in exceptions:
                yield _contained_fault(row, outer)


def _holds(outer: _Placed, inner: _Placed) -> bool:
    if outer.pack is inner.pack or outer.effect.risk <= inner.effect.risk:
        return False
    return not _same_vouch(outer.shape, inner.shape) and contained(inner.shape, outer.shape)


def _same_vouch(one: Shape, two: Shape) -> bool:
    """Two vouches for one pattern, which `_vouches` has told."""
    return one.vouch and two.vouch and one.host == two.host


def _contained_fault(inner: _Placed, outer: _Placed) -> Fault:
    path = inner.pack.shape_path(inner.effect, inner.shape)
    message = (
        f"the shape of {inner.effect.id} ({inner.effect.risk.word}) lies within {outer.effect.id} "
        f"({outer.effect.risk.word}) of {outer.pack.document.file}"
    )
    fix = (
        f"raise its risk, narrow it, or list {{effect: {inner.effect.id}, within: {outer.effect.id}}} in `exceptions:`"
    )
    return inner.pack.document.fault(path, message, fix)


class _Examiners:
    """One examiner for each set of packs that some row is put to."""

    def __init__(self, packs: Sequence[Pack], catalog: Catalog) -> None:
        self._packs = packs
        self._made = {frozenset(pack.name for pack in packs): Examiner(catalog)}

    def fits(self, example: Example, names: frozenset[str]) -> bool:
        """Whether the packs of these names answer as the row expects."""
        if names not in self._made:
            effects = [effect for pack in self._packs if pack.name in names for effect in pack.effects]
            self._made[names] = Examiner(Catalog.build(effects))
        try:
            return self._made[names].ask(example).fits(example)
        except ExampleError:
            return False


def _changed_examples(packs: Sequence[Pack], catalog: Catalog) -> Iterator[Fault]:
    """Rows that hold with their own pack and those that they name, and not with all. A row false by itself is no fault."""
    examiners = _Examiners(packs, catalog)
    names = frozenset(pack.name for pack in packs)
    for pack in packs:
        for example in pack.examples:
            if examiners.fits(example, names):
                continue
            ids = (*example.grant, example.effect or "")
            own = {pack.name} | (names & {effect.partition("/")[0] for effect in ids})
            if examiners.fits(example, frozenset(own)):
                guilty = [name for name in sorted(names - own) if not examiners.fits(example, frozenset(own | {name}))]
                yield _changed_fault(pack, example, guilty or sorted(names - own))


def _changed_fault(pack: Pack, example: Example, guilty: Sequence[str]) -> Fault:
    others = ", ".join(guilty)
    message = f"the answer to this example of {pack.name} is changed by the pack {others}: {example.request}"
    return pack.document.fault(example.path, message, f"narrow the shapes of {others}, or of {pack.name}")
