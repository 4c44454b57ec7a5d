"""Which requests two catalogues answer differently: plain requests of every shape that a change may touch, put to both.

Each is asked under the grant of each effect that names it, alone. The requests are samples, the changes of shapes are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from effectgate.policy.catalog import Catalog
from effectgate.policy.decision import decide
from effectgate.policy.effect import Shape
from effectgate.policy.effect_diff import EffectChange, effect_changes
from effectgate.policy.facts import RequestFacts
from effectgate.policy.grant import Grant, grant_of_ids
from effectgate.policy.neighbours import Neighbourhood
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import Risk
from effectgate.policy.witness import Witness, witnesses

_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # bare ids never expire


# In place of what a grant lacks: the effect does not name the request at all.
NOT_ITS: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True)
class Consequence:
    """A request that is answered otherwise, and how: each sentence is one way in which it is."""

    request: str
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.request}: {'; '.join(self.sentences)}"


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """A changed effect with what its change does to requests. A request is told at the first effect whose change touches it."""

    change: EffectChange
    consequences: tuple[Consequence, ...]


def differences(old: Catalog, new: Catalog) -> list[Difference]:
    """Every effect that differs, by id, and the requests whose names or verdicts differ with it."""
    changes = effect_changes(old, new)
    touched = _touched(old, new, changes)
    sides, told = (_Side(old), _Side(new)), set[str]()
    out = []
    for change in changes:
        found = [one for witness in touched[change].values() if (one := _consequence(sides, witness, told))]
        out.append(Difference(change, tuple(found)))
    return out


def _touched(old: Catalog, new: Catalog, changes: Sequence[EffectChange]) -> dict[EffectChange, dict[str, Witness]]:
    """Requests of the changed shapes themselves, then of every shape that shares some with them."""
    filed: Neighbourhood[tuple[EffectChange, Shape]] = Neighbourhood()
    out: dict[EffectChange, dict[str, Witness]] = {}
    for change in changes:
        shapes = change.shapes or (*_shapes_of(old, change.effect), *_shapes_of(new, change.effect))
        out[change] = {
            str(one): one for shape in shapes for plain in witnesses(shape) for one in (plain, plain.queried())
        }
        for shape in shapes:
            filed.add(shape, (change, shape))
    for catalog in (old, new):
        for effect in catalog.effects:
            for shape in catalog.shapes(effect):
                for change in {change for change, other in filed.meeting(shape) if _share_methods(shape, other)}:
                    out[change].update((str(one), one) for one in witnesses(shape))
    return out


def _share_methods(one: Shape, two: Shape) -> bool:
    return not one.methods or not two.methods or bool(one.methods & two.methods)


def _shapes_of(catalog: Catalog, effect: str) -> Sequence[Shape]:
    return catalog.shapes(effect) if effect in catalog.effects else ()


class _Side:
    """One catalogue, with the grants of single effects that requests are asked under."""

    def __init__(self, catalog: Catalog) -> None:
        self.effects = catalog.effects
        self._catalog = catalog
        self._grants: dict[tuple[str, ...], Grant] = {}

    def names(self, facts: RequestFacts) -> dict[str, str]:
        """The effects that name the request, with what stands behind each name in a sentence."""
        recognised = self._ask(facts, ()).recognised
        return {named.effect: self._standing(named.effect, named.risk) for named in recognised}

    def lacks(self, facts: RequestFacts, effect: str) -> tuple[str, ...] | None:
        """The effects that the grant of this one alone lacks to admit the request: none where it admits, NOT_ITS where it never names it.

        None where there is no such effect.
        """
        if effect not in self.effects:
            return None
        verdict = self._ask(facts, (effect,))
        if verdict.allowed:
            return ()
        asks = [{ask.effect, *ask.also} for ask in verdict.would_admit]
        wanted = next((ask for ask in asks if effect in ask), None)
        if wanted is None:
            return NOT_ITS
        return tuple(self._standing(one, self.effects[one].risk) for one in sorted(wanted - {effect}))

    def _ask(self, facts: RequestFacts, ids: tuple[str, ...]) -> Verdict:
        if ids not in self._grants:
            self._grants[ids] = grant_of_ids(self._catalog, ids)
        grant = self._grants[ids]
        return decide(self._catalog, grant, facts, now=_ANY_TIME, ports=frozenset({80, 443, facts.port}))

    def _standing(self, effect: str, risk: Risk) -> str:
        return f"{effect} ({'reserved' if self.effects[effect].reserved else risk.word})"


def _consequence(sides: tuple[_Side, _Side], witness: Witness, told: set[str]) -> Consequence | None:
    text = str(witness)
    if text in told or (facts := witness.facts()) is None:
        return None
    sentences = tuple(_sentences(sides, facts))
    if not sentences:
        return None
    told.add(text)
    return Consequence(text, sentences)


def _sentences(sides: tuple[_Side, _Side], facts: RequestFacts) -> Iterator[str]:
    old, new = sides
    before, after = old.names(facts), new.names(facts)
    if before.keys() != after.keys():
        yield _naming(before, after)
    for effect in sorted(before.keys() | after.keys()):
        lacked, lacks = old.lacks(facts, effect), new.lacks(facts, effect)
        if lacked is not None and lacks is not None and lacked != lacks:
            yield f"{effect} alone {_admission(lacked)}, and now {_admission(lacks, now=True)}"


def _naming(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    was = f"was named by {_list(before.values())}"
    if before and before.keys() < after.keys():
        return f"{was}, now also by {_list(after[name] for name in after if name not in before)}"
    return f"{was}, now by {_list(after.values())}"


def _admission(lacks: tuple[str, ...], *, now: bool = False) -> str:
    if not lacks:
        return "admits it" if now else "admitted it"
    if lacks == NOT_ITS:
        return "does not" if now else "did not admit it"
    return f"{'is' if now else 'was'} blocked by {_list(lacks)}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "no effect"
