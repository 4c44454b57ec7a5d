"""All cases of a run, played against one scene, and whatever arrived where nothing may arrive laid at its door."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hostile.play import Outcome, Player
from hostile.rows import Case
from hostile.scene import Scene

AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Count:
    """What has arrived at the trap, and how many names were asked about."""

    hits: int
    accepts: int
    lookups: int

    @classmethod
    def now(cls, scene: Scene) -> Count:
        """The count as it stands."""
        return cls(len(scene.hits()), scene.trap.accepts, len(scene.lookups()))


@dataclass(frozen=True, slots=True)
class Performance:
    """The outcome of each case, by its name."""

    scene: Scene
    outcomes: dict[str, Outcome]
    counted: float  # refusals counted on /metrics

    @classmethod
    def of(cls, scene: Scene, cases: Sequence[Case]) -> Performance:
        """Play every case, many at a time; those that failed, and all if something arrived, once more by themselves."""
        before, counted = Count.now(scene), _counted(scene)
        numbered = list(enumerate(cases))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            outcomes = list(pool.map(lambda pair: _play(scene, *pair), numbered))
        counted = _counted(scene) - counted
        quiet = _stray(before, Count.now(scene), sum(outcome.goods for outcome in outcomes)) == ""
        for number, case in numbered:
            if outcomes[number].faults or not quiet:
                outcomes[number] = alone(scene, number + len(cases), case)
        return cls(scene, {str(case): outcome for case, outcome in zip(cases, outcomes, strict=True)}, counted)


def alone(scene: Scene, number: int, case: Case) -> Outcome:
    """Play one case with nothing else going on, so that what arrives is its own."""
    before = Count.now(scene)
    outcome = _play(scene, number, case)
    if stray := _stray(before, Count.now(scene), outcome.goods):
        outcome.faults.append(stray)
    return outcome


def _play(scene: Scene, number: int, case: Case) -> Outcome:
    return Player(lambda agent: scene.way(agent, number)).play(case, number)


def _stray(before: Count, after: Count, goods: int) -> str:
    """What arrived although only `goods` good requests were sent to the trap, or the empty string."""
    hits, accepts, lookups = (
        after.hits - before.hits, after.accepts - before.accepts - goods, after.lookups - before.lookups
    )  # fmt: skip
    if hits <= 0 and accepts <= 0 and lookups <= 0:
        return ""
    return f"{hits} requests and {accepts} connections arrived at the trap, {lookups} names were asked about"


def _counted(scene: Scene) -> float:
    return scene.gate.metric("effectgate_unreceipted_total")
