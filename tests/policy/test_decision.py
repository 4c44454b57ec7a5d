"""The decision on hand-made worst cases: each row is a way in that some system left open."""

from __future__ import annotations

import pytest

from effectgate.policy.catalog import Catalog
from policy.build import ask, effect, scoped, shape

SECRET = Catalog.build(
    [
        effect("a/read", "read", "GET api.test/a/*"),
        effect("a/exact", "read", "GET api.test/a/{x}"),
        effect("a/secret", "read", "GET api.test/a/s", reserved=True),
        effect("a/also-secret", "read", "GET api.test/a/*/k", "GET api.test/a/k", reserved=True),
        effect("a/wide", "destructive", "GET POST api.test/a/*"),
        effect("a/vouch", "mutate_remote", hosts=("*.vouch.test", "vouch.test")),
        effect("a/peek", "read", hosts=("peek.test",)),
        effect("a/precise", "read", "GET vouch.test/p/{q}"),
    ]
)


@pytest.mark.parametrize(
    "spelling",
    ["/a/s", "/a/%73", "/a//s", "/a/s/", "/a/s//", "/a/s;v=1", "/a/S", "/a/s;v=1/", "/a/;x/s", "/a/;x/;y/S;z/"],
)
def test_no_spelling_gets_round_a_reserved_effect(spelling: str) -> None:
    verdict = ask(SECRET, "a/read", f"GET https://api.test{spelling}")
    assert verdict.verdict == "DENY"
    assert any("a/secret" in (p.effect, *p.also) for p in verdict.would_admit)


@pytest.mark.parametrize(
    ("granted", "request_", "effect_id"),
    [
        ("a/read", "GET https://api.test/a/b", "a/read"),
        ("a/read a/exact", "GET https://api.test/a/b", "a/exact"),
        ("a/read a/secret", "GET https://api.test/a/s", "a/secret"),
        ("a/secret", "GET https://api.test/a/s", "a/secret"),
        ("a/precise", "GET https://vouch.test/p/x", "a/precise"),
        ("a/vouch", "POST https://x.vouch.test/anything", "a/vouch"),
        ("a/peek", "GET https://peek.test/x?y", "a/peek"),
    ],
)
def test_allowed_and_named(granted: str, request_: str, effect_id: str) -> None:
    verdict = ask(SECRET, granted, request_)
    assert (verdict.verdict, verdict.effect) == ("ALLOW", effect_id)


@pytest.mark.parametrize(
    ("granted", "request_", "reason", "proposed"),
    [
        ("", "GET https://api.test/a/b", "NO_POLICY_DEFINED", ["a/exact", "a/read", "a/wide"]),
        ("a/read", "POST https://api.test/a/b", "INSUFFICIENT_PRIVILEGE", ["a/wide"]),
        ("a/read", "GET https://else.test/", "DATA_EGRESS_BLOCKED", []),
        ("a/read", "GET https://api.test:8443/a/b", "SANDBOX_VIOLATION", []),
        ("a/peek", "POST https://peek.test/", "DATA_EGRESS_BLOCKED", []),
        ("a/peek", "GET http://peek.test/", "DATA_EGRESS_BLOCKED", []),
        ("a/vouch", "GET https://api.test/a%2Fb", "ENVELOPE_INVALID", []),
        ("a/read", "FROB https://api.test/a/b", "DATA_EGRESS_BLOCKED", []),
    ],
)
def test_refused_with_its_reason(granted: str, request_: str, reason: str, proposed: list[str]) -> None:
    verdict = ask(SECRET, granted, request_)
    assert (verdict.verdict, verdict.reason_code, verdict.effect) == ("DENY", reason, None)
    assert [p.effect for p in verdict.would_admit] == proposed


def test_two_reserved_effects_are_proposed_together() -> None:
    catalog = Catalog.build(
        [
            effect("p/read", "read", "GET api.test/*"),
            effect("p/one", "read", "GET api.test/x/*", reserved=True),
            effect("p/two", "read", "GET api.test/*", shape("GET api.test/x/{y}"), reserved=True),
        ]
    )
    verdict = ask(catalog, "p/read", "GET https://api.test/x/1")
    assert [(p.effect, p.also) for p in verdict.would_admit] == [
        ("p/two", ("p/one",)),
        ("p/one", ("p/two",)),
        ("p/read", ("p/one", "p/two")),
    ]
    for proposal in verdict.would_admit:
        assert ask(catalog, f"p/read {proposal.effect} {' '.join(proposal.also)}", "GET https://api.test/x/1").allowed


def test_a_scoped_entry_admits_only_what_it_binds() -> None:
    catalog = Catalog.build([effect("g/pr", "publish", "POST api.test/repos/{owner}/{repo}/pulls")])
    grant = scoped(catalog, ("g/pr", {"owner": "acme", "repo": ["web", "api-*"]}))
    for path, allowed in {
        "/repos/acme/web/pulls": True,
        "/repos/acme/api-x/pulls": True,
        "/repos/acme/other/pulls": False,
        "/repos/Acme/web/pulls": False,
        "/repos/evil/web/pulls": False,
        "/repos//acme/web/pulls": False,
        "/repos/%61cme/web/pulls": True,
        "/repos/acme;x/web/pulls": False,
    }.items():
        verdict = ask(catalog, grant, f"POST https://api.test{path}")
        assert verdict.allowed is allowed, path
    verdict = ask(catalog, grant, "POST https://api.test/repos/evil/x*/pulls")
    assert dict(verdict.would_admit[0].where) == {"owner": "evil", "repo": {"is": "x*"}}


def test_a_scoped_entry_does_not_unblock_a_broader_one() -> None:
    catalog = Catalog.build(
        [
            effect("g/read", "read", "GET api.test/*"),
            effect("g/secret", "read", "GET api.test/secrets/{name}", reserved=True),
        ]
    )
    grant = scoped(catalog, ("g/read", {}), ("g/secret", {"name": "mine"}))
    assert ask(catalog, grant, "GET https://api.test/secrets/mine").effect == "g/secret"
    assert not ask(catalog, grant, "GET https://api.test/secrets/yours").allowed
    assert not ask(catalog, grant, "GET https://api.test/secrets//yours").allowed
    assert not ask(catalog, grant, "GET https://api.test/secrets/mine;x").allowed


READ_AND_DELETE = Catalog.build(
    [
        effect("q/list", "read", shape("GET POST q.test/", query={"Action": "List*"})),
        effect("q/plain", "read", shape("GET q.test/")),
        effect("q/delete", "destructive", shape("GET POST q.test/", query={"Action": "Delete*"})),
        effect("q/form-read", "read", shape("POST q.test/f", form={"Action": "List*"})),
        effect("q/form-any", "read", shape("POST q.test/f")),
        effect("q/form-delete", "destructive", shape("POST q.test/f", form={"Action": "Delete*"})),
    ]
)


@pytest.mark.parametrize(
    ("granted", "request_", "allowed"),
    [
        ("q/list", "GET https://q.test/?Action=ListUsers", True),
        ("q/list", "GET https://q.test/?Action=ListUsers&Action=ListUsers", True),
        ("q/list", "GET https://q.test/?Action=ListUsers&Action=DeleteUser", False),
        ("q/plain", "GET https://q.test/", True),
        ("q/plain", "GET https://q.test/?Action=DeleteUser", False),
        ("q/plain", "GET https://q.test/?action=deleteuser", False),
        ("q/plain", "GET https://q.test/?Action=x&Action=y", False),
        ("q/plain", "GET https://q.test/?Action=%ff", False),
        ("q/plain", "GET https://q.test/?Actio%6e=Delet%65User", False),
        ("q/plain", "GET https://q.test/?Action=x&action=y", False),
        ("q/plain", "GET https://q.test/?Action=Other", True),
    ],
)
def test_unreadable_never_admits_and_always_blocks(granted: str, request_: str, allowed: bool) -> None:
    assert ask(READ_AND_DELETE, granted, request_).allowed is allowed


FORM = ("content-type", "application/x-www-form-urlencoded")


@pytest.mark.parametrize(
    ("granted", "headers", "body", "allowed"),
    [
        ("q/form-read", [FORM], b"Action=ListUsers", True),
        ("q/form-read", [FORM], b"Action=DeleteUser", False),
        ("q/form-any", [FORM], b"Action=DeleteUser", False),
        ("q/form-any", [FORM], b"Action=%ff", False),
        ("q/form-any", [], b"Action=DeleteUser", False),
        ("q/form-any", [("content-type", "multipart/form-data; boundary=x")], b"--x--", False),
        ("q/form-any", [FORM], b"Other=1", True),
        ("q/form-any", [], None, True),
    ],
)
def test_forms(granted: str, headers: list[tuple[str, str]], body: bytes | None, allowed: bool) -> None:
    assert ask(READ_AND_DELETE, granted, "POST https://q.test/f", headers=headers, body=body).allowed is allowed


def test_a_form_repeating_a_query_name_is_unreadable() -> None:
    facts = {"headers": [FORM], "body": b"Action=DeleteUser"}
    assert not ask(READ_AND_DELETE, "q/list", "POST https://q.test/?Action=ListUsers", **facts).allowed


def test_conditions() -> None:
    catalog = Catalog.build(
        [
            effect(
                "c/get", "read", shape("GET c.test/x", query_only=frozenset({"page"}), absent=frozenset({"x-evil"}))
            ),
            effect("c/ws", "read", shape("GET c.test/ws", websocket=True)),
            effect("c/npm", "read", shape("GET c.test/{name}", encoded_slash=True)),
        ]
    )
    every = "c/get c/ws c/npm"
    assert ask(catalog, "c/get", "GET https://c.test/x?page=1").allowed
    assert not ask(catalog, "c/get", "GET https://c.test/x?page=1&leak=2").allowed
    assert not ask(catalog, "c/get", "GET https://c.test/x", headers=[("X-Evil", "1")]).allowed
    assert not ask(catalog, "c/get", "GET https://c.test/x", body=b"x").allowed
    assert ask(catalog, every, "GET wss://c.test/ws").effect == "c/ws"
    assert not ask(catalog, every, "GET wss://c.test/x").allowed
    assert ask(catalog, every, "GET https://c.test/@s%2fn").effect == "c/npm"


def test_riskier_shape_of_the_same_set_blocks_and_a_contained_one_does_not() -> None:
    catalog = Catalog.build(
        [
            effect("r/read", "read", "GET r.test/a/{x}"),
            effect("r/twin", "destructive", "GET r.test/a/{y}"),
            effect("r/star", "destructive", "GET r.test/b/*"),
            effect("r/in", "read", "GET r.test/b/{x}/c"),
        ]
    )
    assert not ask(catalog, "r/read", "GET https://r.test/a/1").allowed
    assert ask(catalog, "r/in", "GET https://r.test/b/1/c").allowed
    assert not ask(catalog, "r/in", "GET https://r.test/b/1/c/").allowed
    assert not ask(catalog, "r/in", "GET https://r.test/b//c").allowed
