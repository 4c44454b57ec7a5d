"""Remembered outcomes: bounded, and only where no word of the request matters; too many effects to weigh are refused."""

from __future__ import annotations

import itertools

import pytest

from effectgate.policy import outcome
from effectgate.policy.catalog import Catalog
from effectgate.policy.facts import facts_from_url
from effectgate.policy.grant import grant_of_ids
from policy.build import ask, effect, scoped, shape

CATALOG = Catalog.build([effect("m/e", "read", "GET a.test/{x}/y"), effect("m/d", "destructive", "GET a.test/{x}/{z}")])


@pytest.mark.parametrize(
    ("where", "path", "remembered"),
    [({}, "/a/y", 1), ({"x": "a"}, "/a/y", 1), ({}, "/a/y/", 0), ({}, "/a;v/y", 0), ({}, "/a/Y", 1)],
)
def test_what_is_remembered(where: dict[str, str | list[str]], path: str, remembered: int) -> None:
    catalog = Catalog.build(CATALOG.effects.values())  # type: ignore[arg-type]
    ask(catalog, scoped(catalog, ("m/e", where)), f"GET https://a.test{path}")
    assert len(catalog.outcomes) == remembered


def test_inside_and_outside_a_scope_are_remembered_apart() -> None:
    catalog = Catalog.build(CATALOG.effects.values())  # type: ignore[arg-type]
    grant = scoped(catalog, ("m/e", {"x": "a"}))
    for _ in range(2):
        assert ask(catalog, grant, "GET https://a.test/a/y").allowed
        assert not ask(catalog, grant, "GET https://a.test/b/y").allowed
    assert len(catalog.outcomes) == 2


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "MAX_OUTCOMES", 4)
    for _ in range(20):
        ask(CATALOG, grant_of_ids(CATALOG, ["m/e"]), "GET https://a.test/a/y")
    assert len(CATALOG.outcomes) <= 4


@pytest.mark.parametrize(("effects", "allowed"), [(60, True), (200, False)])
def test_too_many_effects_for_one_request_are_refused(effects: int, allowed: bool) -> None:
    catalog = Catalog.build([effect(f"t/e{n}", "read", f"GET a.test/*x{n}*") for n in range(effects)])
    verdict = ask(catalog, " ".join(catalog.effects), f"GET https://a.test/{'/'.join(f'x{n}' for n in range(effects))}")
    assert verdict.allowed is allowed
    assert verdict.reason_code == ("" if allowed else "PDP_ERROR")


LISTED = [
    effect("q/list", "read", shape("GET q.test/x", query={"Act": "List*"})),
    effect("q/any", "destructive", shape("GET q.test/x", query={"Act": "*"})),
    effect("q/star", "read", "GET q.test/*", shape("GET q.test/c", query_only=frozenset({"page"}))),
    effect("q/one", "destructive", "GET q.test/{y}"),
]
ROWS = {
    "/x?Act=List": True,
    "/x?Act=List&act=Drop": False,
    "/x?Act=Drop": False,
    "/x?act=List": False,
    "/x?Act=%ff": False,
    "/x": False,
    "/c?page=1": True,
    "/c?other=1": False,
    "/C?page=1": False,
    "/c/d": True,
}


def test_what_one_request_came_to_is_not_told_another() -> None:
    for first, second in itertools.permutations(ROWS, 2):
        catalog = Catalog.build(LISTED)
        grant = grant_of_ids(catalog, ["q/list", "q/star"])
        for path in (first, second):
            assert ask(catalog, grant, f"GET https://q.test{path}").allowed is ROWS[path], (first, second)


def test_one_grant_does_not_see_anothers_outcome() -> None:
    facts = facts_from_url("GET", "https://a.test/a/y")
    one, two = grant_of_ids(CATALOG, ["m/e"]), grant_of_ids(CATALOG, ["m/d"])
    assert [ask(CATALOG, grant, facts).effect for grant in (one, two, one, two)] == ["m/e", "m/d", "m/e", "m/d"]
