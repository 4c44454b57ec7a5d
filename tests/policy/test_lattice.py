"""Laws of the lattice, and what a ceiling clips and why (design.md section 2, "Lowering and ceilings")."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect
from effectgate.policy.grant import grant_of_ids
from effectgate.policy.lattice import BOTTOM, OPEN, TOP, Ceiling, Profile, id_matches, is_id_pattern, raised
from effectgate.policy.vocabulary import OPERATIONS, Level, Risk

LEVELS = st.sampled_from(list(Level))
PROFILES = st.tuples(*[LEVELS] * len(OPERATIONS)).map(Profile)
EFFECTS = st.builds(
    Effect,
    id=st.sampled_from(["a/x", "a/y", "b/x"]),
    title=st.just("An effect"),
    risk=st.sampled_from(list(Risk)),
    operations=st.lists(st.sampled_from(OPERATIONS), min_size=1, unique=True).map(tuple),
    level=LEVELS,
    sinks=st.sampled_from([(), ("http_egress",), ("http_egress", "git_push")]),
)
CEILINGS = st.builds(
    Ceiling,
    name=st.just("low"),
    title=st.just("Low"),
    max_risk=st.sampled_from(list(Risk)),
    profile=PROFILES,
    packs=st.sampled_from([None, frozenset({"a"}), frozenset({"a", "b"})]),
    effects=st.sampled_from([None, ("a/*",), ("*/x",)]),
    not_effects=st.sampled_from([(), ("a/y",)]),
    sinks=st.sampled_from([None, frozenset({"http_egress"}), frozenset()]),
)


@given(PROFILES)
def test_meet_is_idempotent(a: Profile) -> None:
    assert a.meet(a) == a


@given(PROFILES, PROFILES)
def test_meet_is_commutative(a: Profile, b: Profile) -> None:
    assert a.meet(b) == b.meet(a)


@given(PROFILES, PROFILES, PROFILES)
def test_meet_is_associative(a: Profile, b: Profile, c: Profile) -> None:
    assert a.meet(b.meet(c)) == a.meet(b).meet(c)


@given(PROFILES, PROFILES, PROFILES)
def test_meet_is_the_greatest_lower_bound(a: Profile, b: Profile, c: Profile) -> None:
    assert a.meet(b).within(a)
    assert c.within(a.meet(b)) is (c.within(a) and c.within(b))


@given(PROFILES, PROFILES)
def test_join_and_meet_absorb(a: Profile, b: Profile) -> None:
    assert a.meet(a.join(b)) == a == a.join(a.meet(b))


@given(PROFILES)
def test_bounds(a: Profile) -> None:
    assert BOTTOM.within(a)
    assert a.within(TOP)


@given(EFFECTS, CEILINGS)
def test_what_is_lowered_never_exceeds_the_ceiling_nor_the_effect(effect: Effect, ceiling: Ceiling) -> None:
    lowered = ceiling.lower(effect)
    assert lowered.within(ceiling.profile)
    assert lowered.within(raised(effect))


@given(EFFECTS, CEILINGS)
def test_an_admitted_effect_keeps_every_operation(effect: Effect, ceiling: Ceiling) -> None:
    kept = all(ceiling.lower(effect).level(operation) > Level.NEVER for operation in effect.operations)
    admitted = ceiling.admits(effect) == ""
    assert kept or not admitted
    assert effect.risk <= ceiling.max_risk or not admitted


@given(EFFECTS, CEILINGS, CEILINGS)
def test_a_lower_ceiling_admits_no_more(effect: Effect, ceiling: Ceiling, other: Ceiling) -> None:
    lower = dataclasses.replace(
        ceiling,
        profile=ceiling.profile.meet(other.profile),
        max_risk=min(ceiling.max_risk, other.max_risk),
        not_effects=(*ceiling.not_effects, *other.not_effects),
    )
    assert ceiling.admits(effect) == "" or lower.admits(effect) != ""


LOW = Ceiling(
    name="low",
    title="Low",
    max_risk=Risk.PUBLISH,
    profile=Profile.of({"web_fetch": Level.LOW_RISK, "create_pr": Level.ALWAYS}),
    packs=frozenset({"github"}),
    effects=("github/*",),
    not_effects=("github/merge-*",),
    sinks=frozenset({"http_egress"}),
)
GOOD = Effect("github/read-ci-logs", "Read", Risk.READ, ("web_fetch",), sinks=("http_egress",))


CLIPPED = [
    ({}, ""),
    ({"id": "slack/read"}, "the ceiling low does not list the pack slack"),
    ({"id": "github/merge-pr"}, "the ceiling low excludes it by name"),
    ({"risk": Risk.MUTATE_REMOTE}, "its risk mutate_remote is above publish, the most of the ceiling low"),
    ({"risk": Risk.PUBLISH}, ""),
    ({"sinks": ("http_egress", "git_push")}, "the ceiling low does not permit the sink git_push"),
    ({"operations": ("web_fetch", "git_push")}, "the ceiling low holds the operation git_push at never"),
    ({"level": Level.NEVER}, "its own level is never"),
    ({"level": Level.ALWAYS}, ""),
]


@pytest.mark.parametrize(("change", "reason"), CLIPPED, ids=[row[1] or "admitted" for row in CLIPPED])
def test_the_reason_for_clipping(change: dict[str, object], reason: str) -> None:
    assert LOW.admits(dataclasses.replace(GOOD, **change)) == reason  # type: ignore[arg-type]


def test_an_effect_outside_the_list() -> None:
    ceiling = dataclasses.replace(LOW, packs=None, effects=("slack/*",))
    assert ceiling.admits(GOOD) == "the ceiling low does not list it"


def test_lowering_takes_the_lower_level() -> None:
    effect = dataclasses.replace(GOOD, level=Level.ALWAYS, operations=("web_fetch", "create_pr"))
    assert LOW.lower(effect).words() == {"web_fetch": "low_risk", "create_pr": "always"}


PATTERNS = [
    ("github/*", "github/open-pr", True),
    ("*/read-*", "github/read-issue", True),
    ("github/*", "githubx/open-pr", False),
    ("github/open", "github/open-pr", False),
    ("g.thub/x", "github/x", False),
    ("*/*", "a/b", True),
]


@pytest.mark.parametrize(("pattern", "effect", "expected"), PATTERNS)
def test_id_patterns(pattern: str, effect: str, expected: bool) -> None:
    assert id_matches(pattern, effect) is expected


@pytest.mark.parametrize("text", ["*", "github", "a/b/c", "A/*", "", "a/", "a b/c"])
def test_what_is_no_id_pattern(text: str) -> None:
    assert not is_id_pattern(text)


def test_the_open_ceiling_admits_all_but_never() -> None:
    assert OPEN.admits(dataclasses.replace(GOOD, risk=Risk.DESTRUCTIVE, operations=OPERATIONS)) == ""
    assert OPEN.admits(dataclasses.replace(GOOD, level=Level.NEVER))


def test_bare_ids_of_level_never_are_not_held() -> None:
    never = dataclasses.replace(GOOD, level=Level.NEVER)

    grant = grant_of_ids(Catalog.build([never]), [never.id])
    assert grant.empty
    assert grant.cannot[0].reason == "its own level is never"
