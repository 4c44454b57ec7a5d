"""Suggestions: which ceiling, what it clips, what a scope narrows, and what is merged."""

from __future__ import annotations

import dataclasses

import pytest

from effectgate.policy.catalog import Catalog
from effectgate.policy.lattice import TOP, Ceiling
from effectgate.policy.scope import ScopeValue, Where
from effectgate.policy.suggestion import CeilingError, LeftOut, Suggestion, Wish, suggest
from effectgate.policy.vocabulary import RISKS
from policy.build import effect

EFFECTS = [
    dataclasses.replace(effect("a/read", "read", "GET api.test/{owner}"), parameters=frozenset({"owner"})),
    dataclasses.replace(effect("a/write", "publish", "POST api.test/{owner}"), parameters=frozenset({"owner"})),
    dataclasses.replace(
        effect("b/get", "read", "GET b.test/{bucket}"), parameters=frozenset({"bucket"}), tenant=frozenset({"bucket"})
    ),
]
CATALOG = Catalog.build(EFFECTS)
CEILINGS = {
    name: Ceiling(name, name, RISKS[risk], TOP, effects=effects)
    for name, risk, effects in [
        ("wide", "destructive", None), ("few", "read", ("a/*",)), ("low", "read", None), ("middle", "publish", None),
    ]
}  # fmt: skip
ACME: Where = {"owner": (ScopeValue("acme"),)}
MINE: Where = {"bucket": (ScopeValue("mine"),)}


def suggested(*ids: str, **keys: object) -> Suggestion:
    return suggest(CATALOG, CEILINGS, [Wish(i, "asked", {}) for i in ids], **keys)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ids", "ceiling"),
    [(("a/read",), "few"), (("a/read", "b/get"), "low"), (("a/write",), "middle"), (("a/write", "a/read"), "middle")],
)
def test_the_least_ceiling_that_holds_them_all(ids: tuple[str, ...], ceiling: str) -> None:
    assert suggested(*ids, scope=MINE).ceiling.name == ceiling


def test_a_named_ceiling_clips_and_says_why() -> None:
    found = suggested("a/read", "a/write", ceiling="low")
    assert [entry.effect.id for entry in found.entries] == ["a/read"]
    assert found.left_out[0].what == "a/write"
    assert "above read" in found.left_out[0].reason


@pytest.mark.parametrize("ceilings", [{}, CEILINGS])
def test_without_such_a_ceiling(ceilings: dict[str, Ceiling]) -> None:
    with pytest.raises(CeilingError, match=r"write one of|add effects/ceilings"):
        suggest(CATALOG, ceilings, [], ceiling="none" if ceilings else None)


def test_a_tenant_must_be_scoped() -> None:
    assert suggested("b/get").left_out == (
        LeftOut("b/get", "its host is anyone's account: say whose with --where bucket=VALUE"),
    )
    assert suggested("b/get", scope=MINE).entries[0].where == MINE


def test_a_scope_narrows_what_binds_it_alone() -> None:
    found = suggested("a/read", "b/get", scope={**ACME, **MINE})
    assert [dict(entry.where) for entry in found.entries] == [ACME, MINE]


def test_wishes_for_one_effect_are_one_entry_a_scope_and_an_open_one_takes_all_in() -> None:
    narrow = [Wish("a/read", "one", ACME), Wish("a/read", "two", ACME), Wish("a/read", "one", ACME)]
    assert [entry.reasons for entry in suggest(CATALOG, CEILINGS, narrow).entries] == [("one", "two")]
    both = suggest(CATALOG, CEILINGS, [*narrow, Wish("a/read", "three", {})])
    assert [dict(entry.where) for entry in both.entries] == [{}]
