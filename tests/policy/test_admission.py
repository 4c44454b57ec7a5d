"""Admission: who holds, who blocks, who is excused (design.md section 2, rules 2 and 3)."""

from __future__ import annotations

import pytest

from effectgate.policy.catalog import Catalog
from effectgate.policy.decision import decide
from effectgate.policy.effect import Effect
from effectgate.policy.facts import facts_from_url
from effectgate.policy.grant import Grant, GrantEntry
from policy.build import NOW, ask, effect, shape

NARROW = effect("g/narrow", "read", "GET a.test/x/{y}")


@pytest.mark.parametrize(
    ("blocker", "allowed"),
    [
        (effect("e/wider", "destructive", "GET a.test/x/*"), True),
        (effect("e/wider-methods", "destructive", "GET POST a.test/x/{y}"), True),
        (effect("e/same", "destructive", "GET a.test/x/{z}"), False),
        (effect("e/narrower", "destructive", "GET a.test/x/1"), False),
        (effect("e/beside", "destructive", "GET a.test/{z}/1"), False),
        (effect("e/less-risk", "read", "GET a.test/x/1"), True),
        (effect("e/reserved-wider", "read", "GET a.test/*", reserved=True), False),
        (effect("e/vouch", "destructive", hosts=("a.test",)), True),
        (effect("e/reserved-vouch", "destructive", hosts=("a.test",), reserved=True), False),
        (effect("e/two-shapes", "destructive", "GET a.test/x/*", "GET a.test/*/1"), False),
        (effect("e/discriminated", "destructive", shape("GET a.test/x/{y}", query={"a": "1"})), True),
        (effect("e/other-method", "destructive", "POST a.test/x/1"), True),
        (effect("e/condition", "destructive", shape("GET a.test/x/1", query_only=frozenset({"q"}))), False),
        (effect("e/absent", "destructive", shape("GET a.test/x/1", absent=frozenset({"host"}))), False),
    ],
    ids=lambda value: value.id if isinstance(value, Effect) else None,
)
def test_what_blocks_a_narrow_read(blocker: Effect, allowed: bool) -> None:
    catalog = Catalog.build([NARROW, blocker])
    assert ask(catalog, "g/narrow", "GET https://a.test/x/1").allowed is allowed
    assert ask(catalog, f"g/narrow {blocker.id}", "GET https://a.test/x/1").allowed


VOUCH = effect("g/vouch", "read", hosts=("*.a.test",))


@pytest.mark.parametrize(
    ("blocker", "allowed"),
    [
        (effect("e/shape", "publish", "GET x.a.test/y"), False),
        (
            effect("e/any-method", "publish", hosts=("*.a.test",)),
            True,
        ),  # reading is within it; the loader refuses this pair
        (effect("e/narrower-vouch", "publish", hosts=("x.a.test",)), False),
        (effect("e/read", "read", "GET x.a.test/y"), True),
        (effect("e/elsewhere", "publish", "GET z.a.test/y"), True),
    ],
    ids=lambda value: value.id if isinstance(value, Effect) else None,
)
def test_what_blocks_a_vouch(blocker: Effect, allowed: bool) -> None:
    assert ask(Catalog.build([VOUCH, blocker]), "g/vouch", "GET https://x.a.test/y").allowed is allowed


def test_the_most_specific_is_named_and_containers_drop_out() -> None:
    catalog = Catalog.build(
        [
            effect("g/glob", "read", "GET a.test/x/*/z"),
            effect("g/star", "read", "GET a.test/x/*"),
            effect("g/hole", "read", "GET a.test/x/{y}/z"),
            effect("g/value", "read", shape("GET a.test/x/{y}/z", query={"q": "1"})),
            effect("g/vouch", "read", hosts=("a.test",)),
        ]
    )
    every = " ".join(catalog.effects)
    assert ask(catalog, every, "GET https://a.test/x/y/z?q=1").effect == "g/value"
    assert ask(catalog, every, "GET https://a.test/x/y/z").effect == "g/hole"
    assert ask(catalog, every, "GET https://a.test/x/y/y/z").effect == "g/glob"
    assert ask(catalog, every, "GET https://a.test/x/w").effect == "g/star"
    assert ask(catalog, every, "GET https://a.test/").effect == "g/vouch"


@pytest.mark.parametrize(
    ("shown", "allowed"), [(frozenset({"k1"}), True), (frozenset({"k2"}), False), (frozenset[str](), False)]
)
def test_a_pinned_credential(shown: frozenset[str], allowed: bool) -> None:
    catalog = Catalog.build([NARROW])
    grant = Grant("ci", {"g/narrow": (GrantEntry("g/narrow", credential=frozenset({"k1"})),)})
    facts = facts_from_url("GET", "https://a.test/x/1")
    for _ in range(2):  # what one credential was told is not remembered for another
        assert decide(catalog, grant, facts, now=NOW, credentials=shown).allowed is allowed
