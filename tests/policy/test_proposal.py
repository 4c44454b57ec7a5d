"""`would_admit`: whom it names, in which order, and with which values (design.md section 2, rule 4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from effectgate.policy.catalog import Catalog
from effectgate.policy.lattice import OPEN
from effectgate.policy.vocabulary import Risk
from policy.build import NOW, ask, effect, scoped, shape

REPOS = Catalog.build(
    [
        effect("g/pr", "publish", "POST a.test/repos/{owner}/{repo}/pulls"),
        effect("g/two", "publish", "POST a.test/two/{owner}/x", "POST a.test/two/{owner}/{repo}"),
        effect("g/host", "publish", "POST {region}.b.test/k/{key}"),
        effect("g/npm", "read", shape("GET n.test/{name}", encoded_slash=True)),
        effect("g/query", "read", shape("GET q.test/", query={"bucket": "{bucket}", "v": ["1", "{v}"]})),
    ]
)


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        ("POST https://a.test/repos/o/r/pulls", {"owner": "o", "repo": "r"}),
        ("POST https://a.test/repos/o/%72/pulls", {"owner": "o", "repo": "r"}),
        ("POST https://a.test/repos/o/x*/pulls", {"owner": "o", "repo": {"is": "x*"}}),
        ("POST https://a.test/repos/o;v/r/pulls", {"owner": ("o", "o;v"), "repo": "r"}),
        ("POST https://a.test/two/o/x", {"owner": "o"}),
        ("POST https://eu.b.test/k/1", {"region": "eu", "key": "1"}),
        ("GET https://n.test/@s%2fn", {"name": "@s%2Fn"}),
        ("GET https://q.test/?bucket=b&v=7", {"bucket": "b"}),
        ("GET https://q.test/?bucket=b*&v=1", {"bucket": {"is": "b*"}}),
    ],
)
def test_values(request_: str, where: dict[str, object]) -> None:
    (proposal,) = ask(REPOS, "", request_).would_admit
    assert dict(proposal.where) == where


def test_what_is_held_is_not_narrowed_again() -> None:
    catalog = Catalog.build([*REPOS.effects.values(), effect("g/all", "destructive", "POST a.test/*", reserved=True)])
    held = ask(catalog, "g/pr", "POST https://a.test/repos/o/r/pulls")
    by_effect = {p.effect: p for p in held.would_admit}
    assert (dict(by_effect["g/pr"].where), by_effect["g/pr"].also) == ({}, ("g/all",))
    elsewhere = ask(catalog, scoped(catalog, ("g/pr", {"owner": "z"})), "POST https://a.test/repos/o/r/pulls")
    assert {p.effect: dict(p.where) for p in elsewhere.would_admit}["g/pr"] == {"owner": "o", "repo": "r"}


ORDERED = Catalog.build(
    [
        effect("o/b-read", "read", "GET a.test/x/*"),
        effect("o/a-read", "read", "GET a.test/x/*"),
        effect("o/exact", "publish", "GET a.test/x/y"),
        effect("o/gate", "execute", "GET a.test/*/y", reserved=True),
        effect("o/wide", "destructive", "GET a.test/*"),
    ]
)


def test_order_is_by_the_sets_top_risk_then_specificity_then_id() -> None:
    verdict = ask(ORDERED, "", "GET https://a.test/x/y")
    assert [(p.effect, p.also) for p in verdict.would_admit] == [
        ("o/exact", ("o/gate",)),
        ("o/a-read", ("o/exact", "o/gate")),
        ("o/b-read", ("o/exact", "o/gate")),
        ("o/gate", ("o/exact",)),
        ("o/wide", ("o/gate",)),
    ]


@pytest.mark.parametrize("terms", [{"expires": NOW - timedelta(seconds=1)}, {"expires": NOW}, {"entries": {}}])
def test_a_lapsed_or_empty_grant_is_told_what_to_ask_for(terms: dict[str, object]) -> None:
    grant = replace(scoped(REPOS, ("g/pr", {})), **terms)  # type: ignore[arg-type]
    verdict = ask(REPOS, grant, "POST https://a.test/repos/o/r/pulls")
    assert (verdict.reason_code, [p.effect for p in verdict.would_admit]) == ("NO_POLICY_DEFINED", ["g/pr"])


def test_the_ceiling_is_told_for_the_whole_set() -> None:
    low = replace(OPEN, max_risk=Risk.READ)
    grant = replace(scoped(ORDERED), ceiling=low, entries={}, escalation="ask")
    verdict = ask(ORDERED, grant, "GET https://a.test/x/y")
    assert not any(p.within_ceiling for p in verdict.would_admit)
    assert verdict.verdict == "DENY"
    verdict = ask(ORDERED, grant, "GET https://a.test/x/z")
    assert [(p.effect, p.within_ceiling) for p in verdict.would_admit] == [
        ("o/a-read", True),
        ("o/b-read", True),
        ("o/wide", False),
    ]
