"""`effects/goals` held against the published goal vectors and against the law: reads only beyond the repository."""

from __future__ import annotations

import json
from typing import Any

import pytest

from catalog.shipped import DATA, ROOT, library
from effectgate.packs_io import load_goals
from effectgate.policy.goal import Mapped, map_goal, withheld
from effectgate.policy.lattice import id_matches
from effectgate.policy.suggestion import suggest
from effectgate.policy.vocabulary import Risk

VECTORS: list[dict[str, Any]] = [json.loads(line) for line in (DATA / "goals" / "goals.jsonl").read_text().splitlines()]
RULES = load_goals([ROOT / "effects"])
# The one goal that says nothing about any work: no rule may fire.
SMALL_TALK = "hello there"


def mapped(goal: str) -> Mapped:
    return map_goal(RULES, goal, library().catalog)


def proposed(goal: str) -> set[str]:
    suggestion = suggest(library().catalog, library().ceilings, mapped(goal).wishes)
    return {entry.effect.id for entry in suggestion.entries}


@pytest.mark.parametrize("row", VECTORS, ids=lambda row: row["goal"])
def test_published_vectors(row: dict[str, Any]) -> None:
    found = proposed(row["goal"])
    assert set(row["includes"]) <= found
    assert not {effect for effect in found for pattern in row["excludes"] if pattern in ("*", effect)}


@pytest.mark.parametrize("row", VECTORS, ids=lambda row: row["goal"])
def test_each_goal_fires_a_rule(row: dict[str, Any]) -> None:
    """Without this, a rule that never fires would satisfy every `excludes`."""
    assert bool(mapped(row["goal"]).fired) is (row["goal"] != SMALL_TALK)
    assert bool(proposed(row["goal"])) is (row["goal"] != SMALL_TALK)


def test_no_vector_is_missing() -> None:
    assert len(VECTORS) == 14


@pytest.mark.parametrize("rule", RULES.rules, ids=lambda rule: rule.name)
def test_a_rule_proposes_what_a_goal_may_propose_and_what_some_pack_has(rule: Any) -> None:
    catalog = library().catalog
    for pattern in (*rule.propose, *rule.by_name):
        assert [e for e in catalog.effects if id_matches(pattern, e)], pattern
    named = [catalog.effects[e] for e in catalog.effects for p in rule.propose if id_matches(p, e)]
    assert [effect.id for effect in named if withheld(effect)] == []


@pytest.mark.parametrize("rule", RULES.rules, ids=lambda rule: rule.name)
def test_each_phrase_fires_its_rule(rule: Any) -> None:
    for phrase in rule.phrases:
        goal = f"please {phrase.replace('*', '')} now"
        assert rule.name in [fired.rule for fired in mapped(goal).fired]


def test_every_effect_that_a_goal_may_propose_reads_or_stays_with_the_repository() -> None:
    allowed = [effect for effect in library().catalog.effects.values() if not withheld(effect)]
    beyond = {e.id for e in allowed if e.risk is not Risk.READ and e.pack not in ("fs", "git", "shell")}
    by_graphql = {"github/graphql-pull-requests", "github/graphql-write-files"}  # the same work, the other API
    assert beyond == {"github/open-pr", "github/write-files"} | by_graphql
    assert not [effect.id for effect in allowed if effect.reserved or effect.risk > Risk.PUBLISH]


WHY = [
    ("why is CI red", {"github/read-ci-logs"}, "read"),
    ("review this PR", {"github/read-pull-request"}, "read"),
    ("look at the stripe invoices", {"stripe/read-invoices"}, "read"),
    ("who changed the retry logic?", {"git/read-history"}, "read"),
    ("is there a CVE in our packages", {"web/audit-packages-npm"}, "read"),
]


@pytest.mark.parametrize(("goal", "includes", "risk"), WHY)
def test_goals_of_our_own(goal: str, includes: set[str], risk: str) -> None:
    found = proposed(goal)
    assert includes <= found
    assert {library().catalog.effects[effect].risk.word for effect in found} == {risk}


@pytest.mark.parametrize(
    "goal",
    ["drop the s3 bucket", "delete the github issue", "wipe the pods", "post to slack", "give me aws admin rights"],
)
def test_a_goal_that_asks_for_harm_gets_reads(goal: str) -> None:
    risks = {library().catalog.effects[effect].risk for effect in proposed(goal)}
    assert risks == {Risk.READ}
