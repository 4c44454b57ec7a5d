"""The laws of admission, on random packs and on the worst that a person could make up (style.md 7; design.md section 2).

That a grant never exceeds its ceiling is in test_lattice.py and test_grant.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import unquote

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect
from effectgate.policy.facts import RequestFacts
from effectgate.policy.grant import Grant, GrantEntry
from effectgate.policy.recognition import recognise
from effectgate.policy.scope import ScopeValue
from effectgate.policy.verdict import Proposal, Verdict, WhereValue
from policy.build import ask, effect, scoped, shape
from policy.worlds import PADDINGS, Request, World, described

Law = Callable[[], None]


def law(examples: int = 300) -> Callable[[Callable[[World], None]], Law]:
    """A property of every world."""

    def made(check: Callable[[World], None]) -> Law:
        @settings(max_examples=examples, deadline=None)
        @given(st.integers(0, 2**32))
        def checked(seed: int) -> None:
            check(World(seed))

        return checked

    return made


def asked(world: World, requests: int = 4) -> Iterator[tuple[Catalog, Grant, RequestFacts, Verdict]]:
    """Some decisions of one world."""
    catalog, grant = world.catalog, world.grant()
    for _ in range(requests):
        if (facts := world.spelled().facts) is not None:
            note(described(catalog, grant, facts))
            yield catalog, grant, facts, ask(catalog, grant, facts)


def granted(grant: Grant, effect_id: str, where: dict[str, tuple[ScopeValue, ...]] | None = None) -> Grant:
    """The grant with one entry more."""
    entries = dict(grant.entries)
    entries[effect_id] = (*entries.get(effect_id, ()), GrantEntry(effect_id, where or {}))
    return replace(grant, entries=entries)


def approved(grant: Grant, proposal: Proposal) -> Grant:
    """The grant after a person approved one proposal, as it stands."""
    where = {name: tuple(map(scope_value, many(value))) for name, value in proposal.where.items()}
    for effect_id in proposal.also:
        grant = granted(grant, effect_id)
    return granted(grant, proposal.effect, where)


def many(value: WhereValue) -> tuple[WhereValue, ...]:
    """One value or several, as several."""
    return value if isinstance(value, tuple) else (value,)


def scope_value(value: WhereValue) -> ScopeValue:
    """As a grant file reads it: a `*` in plain text would be a pattern."""
    return ScopeValue(value) if isinstance(value, str) else ScopeValue(dict(value)["is"], True)  # type: ignore[arg-type]


# ---- what is named, and what is proposed ----


@law()
def test_something_that_names_a_request_is_always_proposed(world: World) -> None:
    for _, _, _, verdict in asked(world):
        if not verdict.allowed:
            assert {p.effect for p in verdict.would_admit} == {named.effect for named in verdict.recognised}


@law()
def test_every_proposal_once_granted_admits(world: World) -> None:
    for catalog, grant, facts, verdict in asked(world):
        for proposal in verdict.would_admit:
            assert ask(catalog, approved(grant, proposal), facts).allowed, proposal


@law()
def test_every_proposal_needs_all_that_it_lists(world: World) -> None:
    for catalog, grant, facts, verdict in asked(world):
        for proposal in verdict.would_admit:
            for left_out in proposal.also:
                less = replace(proposal, also=tuple(e for e in proposal.also if e != left_out))
                assert ask(catalog, approved(grant, less), facts).effect != proposal.effect


@law()
def test_only_the_requests_own_values_are_proposed(world: World) -> None:
    for _, _, facts, verdict in asked(world):
        words = unquote(f"{facts.host}{facts.path}?{facts.query}{facts.headers}{facts.body.content!r}").casefold()
        for proposal in verdict.would_admit:
            for value in (scope_value(v) for values in proposal.where.values() for v in many(values)):
                assert all(piece in words for piece in re.split(";|%2f", value.text.casefold()))


@law()
def test_a_granted_reserved_effect_admits_alone_or_with_exactly_its_also(world: World) -> None:
    for catalog, _, facts, verdict in asked(world):
        nothing = scoped(catalog)
        for named in verdict.recognised:
            if catalog.effects[named.effect].reserved:
                alone = granted(nothing, named.effect)
                also = {p.effect: p.also for p in ask(catalog, alone, facts).would_admit}.get(named.effect, ())
                for effect_id in also:
                    alone = granted(alone, effect_id)
                assert ask(catalog, alone, facts).allowed


# ---- what grows and what shrinks ----


@law()
def test_growing_a_grant_never_refuses_more(world: World) -> None:
    for catalog, grant, facts, verdict in asked(world):
        if verdict.allowed:
            for effect_id in catalog.effects:
                assert ask(catalog, granted(grant, effect_id), facts).allowed


@law()
def test_narrowing_a_scope_never_admits_more(world: World) -> None:
    for catalog, grant, facts, verdict in asked(world):
        for effect_id in grant.entries:
            for name in sorted(catalog.parameters(effect_id)):
                where = {name: (ScopeValue(world.dice.choice(("a", "s", "a*"))),)}
                narrowed = tuple(replace(e, where={**where, **e.where}) for e in grant.entries[effect_id])
                less = replace(grant, entries={**grant.entries, effect_id: narrowed})
                assert verdict.allowed or not ask(catalog, less, facts).allowed


@law()
def test_adding_a_pack_never_widens_a_grant(world: World) -> None:
    for catalog, grant, facts, verdict in asked(world):
        other = World(world.dice.getrandbits(32), most=3)
        more = [replace(e, id=f"more{e.id}", digest=f"more{e.digest}") for e in other.effects]
        assert verdict.allowed or not ask(Catalog.build([*catalog.effects.values(), *more]), grant, facts).allowed


@law()
def test_an_unreserved_vouch_never_denies_a_precise_granted_effect(world: World) -> None:
    for catalog, grant, facts, verdict in asked(world):
        if verdict.effect and catalog.effects[verdict.effect].shapes:
            vouch = effect("new/vouch", "destructive", hosts=("api.test", "*.api.test", "other.test"))
            again = ask(Catalog.build([*catalog.effects.values(), vouch]), grant, facts)
            assert again.effect == verdict.effect


# ---- what a spelling changes ----


def in_other_letters(world: World, request: Request) -> Request:
    """The request padded, and now and then with its query in the other case."""
    query = request.query and "".join(c.swapcase() if world.rarely(3) else c for c in request.query)
    return replace(world.padded(request), query=query if world.rarely(3) else request.query)


def unscoped(grant: Grant) -> Grant:
    """The same effects, without scopes."""
    return replace(grant, entries={effect_id: (GrantEntry(effect_id),) for effect_id in grant.entries})


def writes(catalog: Catalog, effect_id: str | None, spelled: RequestFacts, plain: RequestFacts) -> bool:
    """Whether the effect has a shape of its own for this spelling, which does not name the plain one."""
    before = {match.entry for match in recognise(catalog.candidates(plain), plain) if match.named}
    return any(
        m.named and m.effect.id == effect_id and m.entry not in before
        for m in recognise(catalog.candidates(spelled), spelled)
    )


def check_spelling(catalog: Catalog, grant: Grant, plain: RequestFacts | None, spelled: RequestFacts | None) -> None:
    """Where a granted effect names the plain spelling and is blocked, this other spelling is not admitted either."""
    if plain is None or spelled is None or (before := ask(catalog, grant, plain)).allowed:
        return
    if any(named.effect in grant.entries for named in before.recognised):
        verdict = ask(catalog, grant, spelled)
        note(described(catalog, grant, plain))
        note(f"{spelled.method} {spelled.path} ?{spelled.query}")
        assert not verdict.allowed or writes(catalog, verdict.effect, spelled, plain), verdict.effect


@law(1000)
def test_where_the_plain_spelling_is_blocked_no_other_is_admitted(world: World) -> None:
    catalog, grant = world.catalog, unscoped(world.grant())
    for _ in range(4):
        request = world.request()
        check_spelling(catalog, grant, request.facts, in_other_letters(world, request).facts)


@law()
def test_no_padding_brings_a_request_into_a_scope(world: World) -> None:
    """Letter case is left out here: in a scoped parameter it is another value."""
    catalog, grant = world.catalog, world.grant()
    kinds = tuple(kind for kind in PADDINGS if kind != "case")
    for _ in range(4):
        request = world.request()
        check_spelling(catalog, grant, request.facts, world.padded(request, kinds).facts)


@law()
def test_percent_encoded_letters_host_case_and_a_trailing_dot_change_nothing(world: World) -> None:
    catalog, grant = world.catalog, world.grant()
    for _ in range(4):
        request = world.spelled()
        spelled = replace(world.padded(request, ("percent",)), host=request.host.upper() + "." * world.rarely(2))
        if (facts := request.facts) is not None and (other := spelled.facts) is not None:
            assert told(ask(catalog, grant, facts)) == told(ask(catalog, grant, other))


@law()
def test_the_order_of_packs_changes_nothing(world: World) -> None:
    for catalog, grant, facts, verdict in asked(world):
        shuffled = world.dice.sample(list(catalog.effects.values()), len(catalog.effects))
        assert told(ask(Catalog.build(shuffled), grant, facts)) == told(verdict)


def told(verdict: Verdict) -> object:
    """A verdict without its sentence, which shows the request as it was written."""
    return replace(verdict, reason="")


# ---- the worst that a person could make up ----


def world_of(*effects: Effect) -> Catalog:
    return Catalog.build(effects)


BESIDE = world_of(  # a granted effect with one shape that names and another that is precise in other letters
    effect("g/e", "read", "GET a.test/a/*", "GET a.test/a/S/x"),
    effect("e/d", "destructive", "GET a.test/a/{y}/x"),
)
ACTION = world_of(
    effect("g/list", "read", shape("GET a.test/", query={"Action": "List*"})),
    effect("e/any", "destructive", shape("GET a.test/", query={"Action": "*"})),
)
FOLDED = world_of(
    effect("g/list", "read", shape("GET a.test/", query={"A": "list"}, fold=True)),
    effect("e/l", "destructive", shape("GET a.test/", query={"A": "l*"})),
)
CONDITION = world_of(
    effect("g/e", "read", "GET a.test/*", shape("GET a.test/x", query_only=frozenset({"page"}))),
    effect("e/d", "destructive", "GET a.test/{y}"),
)
VOUCH = world_of(
    effect("g/v", "mutate_remote", hosts=("a.test",)),
    effect("e/drop", "mutate_remote", "DELETE a.test/s", reserved=True),
)
NUMBER = world_of(effect("g/ip", "read", "GET 192.0.2.1/x"), effect("e/ip", "publish", "POST 192.0.2.1/x"))
PARAMETERS = world_of(
    effect("g/e", "read", "GET a.test/*"),
    effect("e/v", "read", "GET a.test/a;v=1/x", reserved=True),
    effect("e/tail", "read", "GET a.test/t/a*", reserved=True),
)


@pytest.mark.parametrize(
    ("catalog", "held", "request_", "allowed"),
    [
        (BESIDE, "g/e", "GET https://a.test/a/s/x", False),
        (BESIDE, "g/e", "GET https://a.test/a//s/x", False),
        (BESIDE, "g/e", "GET https://a.test/a/s/X", False),
        (BESIDE, "g/e", "GET https://a.test/a/s/x/", False),
        (BESIDE, "g/e", "GET https://a.test/a/S/x", True),
        (BESIDE, "g/e", "GET https://a.test/a/s/y", True),
        (ACTION, "g/list", "GET https://a.test/?Action=List", True),
        (ACTION, "g/list", "GET https://a.test/?Action=List&action=Delete", False),
        (ACTION, "g/list", "GET https://a.test/?Action=List;Action=Delete", False),
        (FOLDED, "g/list", "GET https://a.test/?a=LIST", False),
        (FOLDED, "g/list e/l", "GET https://a.test/?a=LIST", True),
        (CONDITION, "g/e", "GET https://a.test/x?page=1", True),
        (CONDITION, "g/e", "GET https://a.test/x?other=1", False),
        (CONDITION, "g/e", "GET https://a.test/x/?other=1", False),
        (CONDITION, "g/e", "GET https://a.test/x/?page=1", True),
        (VOUCH, "g/v", "DELETE https://a.test/s", False),
        (VOUCH, "g/v", "DELETE https://a.test/t", True),
        (NUMBER, "g/ip", "GET https://192.0.2.1/x", True),
        (NUMBER, "g/ip", "POST https://192.0.2.1/x", False),
        (PARAMETERS, "g/e", "GET https://a.test/a;w=2;v=1/x", False),
        (PARAMETERS, "g/e", "GET https://a.test/a;v=1;w=2/x", False),
        (PARAMETERS, "g/e", "GET https://a.test/a;w=1/x", True),
        (PARAMETERS, "g/e", "GET https://a.test/t//A", False),
        (PARAMETERS, "g/e", "GET https://a.test/t//", True),
    ],
)
def test_worst_cases(catalog: Catalog, held: str, request_: str, allowed: bool) -> None:
    assert ask(catalog, held, request_).allowed is allowed


OWNED = world_of(
    effect("g/query", "read", shape("GET a.test/", query={"owner": "{owner}"})),
    effect("g/path", "read", shape("GET a.test/{owner}/x", encoded_slash=True)),
)


@pytest.mark.parametrize(
    ("request_", "allowed"),
    [
        ("GET https://a.test/?owner=acme", True),
        ("GET https://a.test/?owner=acme&owner=acme", True),
        ("GET https://a.test/?owner=acme&other=evil", True),
        ("GET https://a.test/?owner=acme&Owner=evil", False),
        ("GET https://a.test/?owner=acme;owner=evil", False),
        ("GET https://a.test/?owner=Acme", False),
        ("GET https://a.test/acme/x", True),
        ("GET https://a.test/acme;v/x", False),
        ("GET https://a.test/acme%2F/x", False),
        ("GET https://a.test/%61cme/x", True),
    ],
)
def test_a_scope_covers_every_reading_of_its_parameter(request_: str, allowed: bool) -> None:
    grant = scoped(OWNED, ("g/query", {"owner": "acme"}), ("g/path", {"owner": "acme"}))
    assert ask(OWNED, grant, request_).allowed is allowed


def test_several_entries_share_the_readings_between_them() -> None:
    catalog = world_of(effect("g/e", "read", "GET a.test/{x}/{y}/*"))
    request = "GET https://a.test/;1/p;2/q;3/r"  # x is `;1`, `p;2` or `p`, each with its own y
    whole: list[tuple[str, dict[str, str | list[str]]]]
    whole = [("g/e", {"x": ";1", "y": ["p", "p;2"]}), ("g/e", {"x": ["p", "p;2"], "y": ["q", "q;3"]})]
    assert ask(catalog, scoped(catalog, *whole), request).allowed
    for part in whole:
        assert not ask(catalog, scoped(catalog, part), request).allowed


def test_many_readings_are_proposed_whole_and_never_as_an_open_ask() -> None:
    catalog = world_of(effect("g/pr", "publish", "POST a.test/repos/{owner}/{repo}/pulls"))
    verdict = ask(catalog, "", "POST https://a.test/repos/acme;1;2;3;4;5;6;7/web;1;2;3/pulls")
    (proposal,) = verdict.would_admit
    assert {name: len(many(value)) for name, value in proposal.where.items()} == {"owner": 128, "repo": 8}
    assert ask(catalog, approved(scoped(catalog), proposal), "POST https://a.test/repos/acme/web/pulls").allowed
    assert not ask(catalog, approved(scoped(catalog), proposal), "POST https://a.test/repos/evil/web/pulls").allowed
