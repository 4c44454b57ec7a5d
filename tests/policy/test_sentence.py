"""The sentences of a verdict: they name effects and the request's own words, and never a secret or what else the grant holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from effectgate.policy import sentence
from effectgate.policy.catalog import Catalog
from effectgate.policy.facts import facts_from_url
from policy.build import NOW, ask, effect, scoped, shape

CATALOG = Catalog.build(
    [
        effect("g/pr", "publish", "POST a.test/repos/{owner}/{repo}/pulls"),
        effect("g/all", "mutate_remote", "POST a.test/*"),
        effect("g/gate", "mutate_remote", "POST a.test/gate/*", reserved=True),
        effect("g/bot", "publish", shape("POST b.test/bot{token}/send", secret=frozenset({"token"}))),
        effect("g/held", "read", "GET held.test/private"),
    ]
)
PULLS = "POST https://a.test/repos/o/r/pulls"


@pytest.mark.parametrize(
    ("held", "request_", "text"),
    [
        ("g/pr", PULLS, "POST a.test/repos/o/r/pulls is g/pr (g pr, publish), which this grant includes."),
        (
            "g/held",
            PULLS,
            "POST a.test/repos/o/r/pulls is g/pr (g pr, publish), which this grant does not include. It would also be admitted by g/all.",
        ),
        (
            "g/all",
            "POST https://a.test/gate/x",
            "POST a.test/gate/x is g/gate (g gate, mutate_remote), which this grant does not include. It would also be admitted by g/all.",
        ),
        (
            "g/held",
            "GET https://a.test/x",
            "No effect in the catalogue names GET a.test/x, so no grant can include it.",
        ),
        ("g/held", "GET https://a.test:8443/x", "Port 8443 is not open to agents: GET a.test:8443 is refused."),
        (
            "g/held",
            "POST https://a.test/a%2fb",
            "The path of POST a.test has an encoded slash (%2F), which no effect for it accepts; send a plain path.",
        ),
        ("", PULLS, "This grant includes no effect. The request is g/pr (g pr, publish)."),
        ("", "GET https://a.test/x", "This grant includes no effect."),
    ],
)
def test_sentences(held: str, request_: str, text: str) -> None:
    verdict = ask(CATALOG, held, request_)
    assert verdict.reason == text
    assert held == "g/held" or "g/held" not in verdict.reason
    assert "held.test" not in verdict.reason


def test_a_scope_that_does_not_cover_is_told_as_such() -> None:
    grant = scoped(CATALOG, ("g/pr", {"owner": "z"}))
    assert "which this grant includes, but not with these values" in ask(CATALOG, grant, PULLS).reason


def test_an_expired_grant_says_when() -> None:
    grant = replace(scoped(CATALOG, ("g/pr", {})), expires=NOW - timedelta(days=1))
    assert ask(CATALOG, grant, PULLS).reason.startswith("This grant expired at 2026-11-29T12:00:00+00:00")


@pytest.mark.parametrize(
    "path",
    ["/bot12:ab/send", "//bot12:ab/send", "/bot12:ab;v/send/", "/bot12:ab//send", "/BOT12:ab/send", "/%62ot12:ab/send"],
)
@pytest.mark.parametrize("held", ["", "g/bot", "g/held"])
def test_a_secret_is_never_told(path: str, held: str) -> None:
    catalog = Catalog.build([*CATALOG.effects.values(), effect("g/b", "read", "POST b.test/*")])
    verdict = ask(catalog, f"{held} g/b", f"POST https://b.test{path}")
    assert "12:ab" not in verdict.reason
    assert "token" not in verdict.parameters
    assert "token" in verdict.secret


def test_hostile_words_stay_as_they_were_written() -> None:
    facts = facts_from_url("GET", "https://a.test/%3Cscript%3E")
    assert "%3Cscript%3E" in sentence.unnamed(facts)


@pytest.mark.parametrize(("principal", "text"), [("ci", "The agent ci has no grant."), ("", "There is no grant.")])
def test_no_grant(principal: str, text: str) -> None:
    assert sentence.no_grant(principal) == text
