"""Recorded requests: the least grant that admits them, and what they would be answered by another."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effectgate.policy.catalog import Catalog
from effectgate.policy.grant import Grant, GrantEntry, by_effect, sealed_grant
from effectgate.policy.scope import ScopeValue, Where
from effectgate.policy.traffic import MAX_VALUES, Recorded, least_wishes, replay, scope_values, united
from effectgate.policy.verdict import Proposal
from effectgate.policy.vocabulary import Decision, Risk
from policy.build import NOW, effect, shape

CATALOG = Catalog.build(
    [
        effect("a/read", "read", "GET api.test/{owner}/{repo}/x"),
        effect("a/runs", "read", "GET api.test/{owner}/runs/{run}"),
        effect("a/write", "publish", "POST api.test/{owner}/{repo}/x"),
        effect("a/secret", "read", "GET api.test/{owner}/secret", reserved=True),
        effect("a/action", "read", shape("GET q.test/", query={"Action": "Get*"})),
        effect("a/named", "read", shape("GET n.test/", query_only=frozenset({"page"}))),
        effect("a/target", "read", shape("POST h.test/", headers={"x-target": "Get"})),
        effect("a/rpc", "read", shape("POST j.test/", json={"/method": "get"})),
    ]
)
PORTS = frozenset({80, 443})


def recorded(request: str, **keys: object) -> Recorded:
    method, _, place = request.partition(" ")
    host = place.partition("/")[0]
    made: dict[str, object] = {
        "verdict": Decision.DENY,
        "reason_code": "INSUFFICIENT_PRIVILEGE",
        "url": f"https://{place}",
    }
    return Recorded("me", method=method, host=host, shown=request, **{**made, **keys})  # type: ignore[arg-type]


def allowed(request: str, by: str, **keys: object) -> Recorded:
    return recorded(request, verdict=Decision.ALLOW, reason_code="", effect=by, **keys)


def wished(*seen: Recorded) -> list[tuple[str, dict[str, list[str]]]]:
    wishes, _ = least_wishes(CATALOG, seen, NOW)
    return [(w.effect, {name: [v.text for v in values] for name, values in w.where.items()}) for w in wishes]


def left(*seen: Recorded) -> list[tuple[str, str]]:
    return [(item.what, item.reason) for item in least_wishes(CATALOG, seen, NOW)[1]]


def test_a_request_is_admitted_for_its_own_values() -> None:
    seen = [allowed("GET api.test/acme/web/x", "a/read"), recorded("POST api.test/acme/web/x")]
    assert wished(*seen) == [
        ("a/read", {"owner": ["acme"], "repo": ["web"]}), ("a/write", {"owner": ["acme"], "repo": ["web"]}),
    ]  # fmt: skip


def test_scopes_are_united_and_never_widened() -> None:
    seen = [allowed(f"GET api.test/{path}/x", "a/read") for path in ("acme/web", "acme/api", "other/api")]
    assert wished(*seen) == [
        ("a/read", {"owner": ["acme"], "repo": ["web"]}),
        ("a/read", {"owner": ["acme", "other"], "repo": ["api"]}),
    ]


def test_a_parameter_of_many_values_is_no_scope() -> None:
    seen = [allowed(f"GET api.test/acme/runs/{n}", "a/runs") for n in range(MAX_VALUES + 1)]
    assert wished(*seen) == [("a/runs", {"owner": ["acme"]})]
    assert wished(*seen[1:])[0][1]["run"] == [str(n) for n in range(1, MAX_VALUES + 1)]


def test_reasons_count() -> None:
    seen = [allowed("GET api.test/a/b/x", "a/read")] * 2 + [recorded("GET api.test/a/b/x")]
    assert least_wishes(CATALOG, seen, NOW)[0][0].reason == "admitted 2 times and refused once"


def test_without_a_path_the_recorded_ask_stands() -> None:
    ask = Proposal("a/read", "", Risk.READ, {"owner": {"is": "x*"}})
    assert wished(recorded("GET api.test", url="", asks=(ask,))) == [("a/read", {"owner": ["x*"]})]
    assert wished(allowed("GET api.test", "a/read", url="")) == [("a/read", {})]


def test_what_blocks_is_wished_for_too_and_as_narrowly() -> None:
    catalog = Catalog.build(
        [effect("b/read", "read", "GET b.test/{x}/y"), effect("b/all", "read", "GET b.test/{x}/{z}", reserved=True)]
    )
    wishes, _ = least_wishes(catalog, [allowed("GET b.test/1/y", "b/read")], NOW)
    assert [(wish.effect, sorted(wish.where)) for wish in wishes] == [("b/read", ["x"]), ("b/all", ["x", "z"])]


LEFT_OUT = [
    (recorded("GET no.test/", reason_code="DATA_EGRESS_BLOCKED"), "GET no.test (once)", "no effect names it"),
    (recorded("GET api.test/a/secret"), "GET api.test (once)", "it needs a/secret, which is reserved"),
    (recorded("GET api.test", url="", reason_code="ENVELOPE_INVALID"), "GET api.test (once)", "which no grant changes"),
    (allowed("GET api.test/a/b/x", "b/gone", url=""), "GET api.test (once)", "this catalogue has no b/gone"),
]


@pytest.mark.parametrize(("seen", "what", "reason"), LEFT_OUT)
def test_what_is_left_out_is_named(seen: Recorded, what: str, reason: str) -> None:
    assert wished(seen) == []
    assert left(seen)[0][0] == what
    assert reason in left(seen)[0][1]


def test_a_reserved_effect_that_was_granted_stays() -> None:
    assert wished(allowed("GET api.test/a/secret", "a/secret")) == [("a/secret", {"owner": ["a"]})]


def grant(*entries: tuple[str, Where], credential: frozenset[str] = frozenset()) -> Grant:
    made = [GrantEntry(effect_id, where, credential) for effect_id, where in entries]
    return sealed_grant(Grant("me", by_effect(made)), CATALOG)


READ = grant(("a/read", {"owner": (ScopeValue("acme"),)}))
REPLAYS = [
    (allowed("GET api.test/acme/web/x", "a/read"), READ, Decision.ALLOW, False),
    (allowed("GET api.test/other/web/x", "a/read"), READ, Decision.DENY, True),
    (recorded("GET api.test/acme/web/x"), READ, Decision.ALLOW, True),
    (recorded("GET api.test/acme/web/x?a=&b="), READ, Decision.ALLOW, True),
    (recorded("GET n.test/?page="), grant(("a/named", {})), Decision.ALLOW, True),
    (recorded("GET n.test/?other="), grant(("a/named", {})), Decision.DENY, False),
    (recorded("GET q.test/"), grant(("a/action", {})), Decision.DENY, False),
    (recorded("GET q.test/?Other="), grant(("a/action", {})), Decision.DENY, False),
    (recorded("GET q.test/?Action="), grant(("a/action", {})), None, False),
    (recorded("GET n.test/?%E2%80%A6="), grant(("a/named", {})), None, False),
    (recorded("POST h.test/"), grant(("a/target", {})), None, False),
    (recorded("POST j.test/", body=True), grant(("a/rpc", {})), None, False),
    (recorded("POST j.test/"), grant(("a/rpc", {})), Decision.DENY, False),
    (recorded("GET api.test", url=""), READ, None, False),
    (recorded("GET api.test/a/../b"), READ, None, False),
    (recorded("GET api.test/acme/web/x"), grant(("a/read", {}), credential=frozenset({"sha256:0"})), None, False),
]


@pytest.mark.parametrize(("seen", "held", "now", "changed"), REPLAYS)
def test_replay(seen: Recorded, held: Grant, now: Decision | None, changed: bool) -> None:
    found = replay(CATALOG, held, seen, NOW, PORTS)
    assert (found.now, found.changed) == (now, changed)
    assert found.reason


NAMES = st.sampled_from(["x", "y", "z"])


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=9))
def test_united_scopes_cover_exactly_what_was_there(pairs: list[tuple[str, str]]) -> None:
    scopes: list[Where] = [{"a": (ScopeValue(a),), "b": (ScopeValue(b),)} for a, b in pairs]
    covered = {(a.text, b.text) for scope in united(scopes) for a, b in itertools.product(scope["a"], scope["b"])}
    assert covered == set(pairs)


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=9))
def test_what_is_proposed_admits_what_was_seen_and_nothing_else(pairs: list[tuple[str, str]]) -> None:
    seen = [recorded(f"GET api.test/{a}/{b}/x") for a, b in pairs]
    held = grant(*((wish.effect, wish.where) for wish in least_wishes(CATALOG, seen, NOW)[0]))
    every = [recorded(f"GET api.test/{a}/{b}/x") for a in "xyz" for b in "xyz"]
    admitted = {one.shown for one in every if replay(CATALOG, held, one, NOW, PORTS).now is Decision.ALLOW}
    assert admitted == {one.shown for one in seen}


def test_values_of_requests_are_literals() -> None:
    assert scope_values(("a", {"is": "b*"})) == (ScopeValue("a"), ScopeValue("b*", literal=True))
