"""Remembered outcomes: bounded, and only where no word of the request matters; too many effects to weigh are refused."""

from __future__ import annotations

import pytest

from effectgate.policy import outcome
from effectgate.policy.catalog import Catalog
from effectgate.policy.facts import facts_from_url
from effectgate.policy.grant import grant_of_ids
from policy.build import ask, effect, scoped

CATALOG = Catalog.build([effect("m/e", "read", "GET a.test/{x}/y"), effect("m/d", "destructive", "GET a.test/{x}/{z}")])


@pytest.mark.parametrize(
    ("where", "path", "remembered"),
    [({}, "/a/y", 1), ({"x": "a"}, "/a/y", 0), ({}, "/a/y/", 0), ({}, "/a;v/y", 0), ({}, "/a/Y", 1)],
)
def test_what_is_remembered(where: dict[str, str | list[str]], path: str, remembered: int) -> None:
    catalog = Catalog.build(CATALOG.effects.values())  # type: ignore[arg-type]
    ask(catalog, scoped(catalog, ("m/e", where)), f"GET https://a.test{path}")
    assert len(catalog.outcomes) == remembered


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


def test_one_grant_does_not_see_anothers_outcome() -> None:
    facts = facts_from_url("GET", "https://a.test/a/y")
    one, two = grant_of_ids(CATALOG, ["m/e"]), grant_of_ids(CATALOG, ["m/d"])
    assert [ask(CATALOG, grant, facts).effect for grant in (one, two, one, two)] == ["m/e", "m/d", "m/e", "m/d"]
