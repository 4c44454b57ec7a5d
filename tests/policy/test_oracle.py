"""`decide` against the rules by brute force (oracle.py), fresh and after other requests have filled the remembered outcomes."""

from __future__ import annotations

from hypothesis import given, note, settings
from hypothesis import strategies as st

from effectgate.policy.catalog import Catalog
from effectgate.policy.facts import RequestFacts
from effectgate.policy.grant import Grant
from policy.build import ask
from policy.oracle import Answer, decide_by_force
from policy.worlds import World, described

SEEDS = st.integers(0, 2**32)


def agree(catalog: Catalog, grant: Grant, facts: RequestFacts | None) -> None:
    if facts is None:
        return
    verdict = ask(catalog, grant, facts)
    recognised = frozenset(named.effect for named in verdict.recognised)
    asked = tuple((p.effect, p.also) for p in verdict.would_admit)
    mine = Answer(str(verdict.verdict), verdict.effect, recognised, asked)
    brute = decide_by_force(catalog, grant, facts)
    if mine != brute:
        note(described(catalog, grant, facts))
    assert mine == brute


@settings(max_examples=1500, deadline=None)
@given(SEEDS)
def test_the_decision_agrees_with_the_rules_by_brute_force(seed: int) -> None:
    world = World(seed)
    catalog, grant = world.catalog, world.grant()
    agree(catalog, grant, world.spelled().facts)


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_it_agrees_after_other_requests_have_been_remembered(seed: int) -> None:
    world = World(seed)
    catalog, grant, other = world.catalog, world.grant(), world.grant()
    for _ in range(6):
        request = world.request()
        for spelled in (request, world.padded(request)):
            agree(catalog, grant, spelled.facts)
            agree(catalog, other, spelled.facts)
