"""`decide` against the rules by brute force (oracle.py), fresh and after other requests have filled the remembered outcomes."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from effectgate.policy.catalog import Catalog
from effectgate.policy.facts import RequestFacts
from effectgate.policy.grant import Grant
from policy import oracle
from policy.build import ask
from policy.worlds import Request, World, described, grants, padded, requests, worlds

BOUNDED = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))


def both(catalog: Catalog, grant: Grant, facts: RequestFacts) -> tuple[oracle.Answer, oracle.Answer]:
    verdict = ask(catalog, grant, facts)
    recognised = frozenset(named.effect for named in verdict.recognised)
    asked = tuple((p.effect, p.also) for p in verdict.would_admit)
    mine = oracle.Answer(str(verdict.verdict), verdict.effect, recognised, asked)
    note(described(catalog, grant, facts))
    return mine, oracle.decide(catalog, grant, facts)


def facts_of(request: Request) -> RequestFacts:
    facts = request.facts
    assume(facts is not None)
    assert facts is not None
    return facts


@BOUNDED
@given(worlds(), st.data())
def test_the_decision_agrees_with_the_rules_by_brute_force(world: World, data: st.DataObject) -> None:
    catalog = world.catalog
    grant = data.draw(grants(catalog))
    mine, brute = both(catalog, grant, facts_of(world.request))
    assert mine == brute


@BOUNDED
@given(worlds(), st.data())
def test_it_agrees_after_other_requests_have_been_remembered(world: World, data: st.DataObject) -> None:
    catalog = world.catalog
    grant = data.draw(grants(catalog))
    for _ in range(4):
        request = data.draw(requests(world.effects))
        for spelled in (request, data.draw(padded(request))):
            if spelled.facts is not None:
                mine, brute = both(catalog, grant, spelled.facts)
                assert mine == brute
