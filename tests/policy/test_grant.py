"""Grants as values, and grants.yaml: every fault with its line; can and cannot (design.md sections 2 and 6)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from library import effect, library

from effectgate.policy.document import Document
from effectgate.policy.fault import Fault, FaultsError
from effectgate.policy.grant import Grant, GrantEntry, UnknownEffectError, grant_of_ids
from effectgate.policy.granting import grants_of
from effectgate.policy.grants_draft import token_hashes
from effectgate.policy.lattice import Ceiling, Profile
from effectgate.policy.scope import ScopeValue
from effectgate.policy.vocabulary import OPERATIONS, Level, Risk
from effectgate.strict_yaml import read_yaml

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ROW = '{{ method = "{}", host = "api.example.com", path = "{}" }}'
PACK = (
    effect("read", "read", ROW.format("GET", "/r/{owner}/{repo}"))
    + effect("open", "publish", ROW.format("POST", "/r/{owner}/{repo}/pulls"), operations='"create_pr"')
    + effect(
        "bucket", "read", '{ method = "GET", host = "api.example.com", path = "/b/{bucket}", tenant = ["bucket"] }'
    )
    + effect("wipe", "destructive", ROW.format("DELETE", "/r/{owner}/{repo}"))
)
CEILINGS = {
    "read-only": 'title = "Read"\nmax_risk = "read"\n[operations]\nweb_fetch = "low_risk"\n',
    "fixer": 'title = "Fix"\nmax_risk = "publish"\n[operations]\nweb_fetch = "always"\ncreate_pr = "low_risk"\n',
}
LIBRARY = library({"demo": PACK}, CEILINGS)


def compiled(text: str) -> Mapping[str, Grant]:
    return grants_of(read_yaml(text, "grants.yaml"), LIBRARY.catalog, LIBRARY.ceilings, NOW)


def agent(body: str, name: str = "ci") -> str:
    """One agent; `body` starts on line 4."""
    return f"version: 1\nagents:\n  - name: {name}\n{body}"


def faults(text: str) -> tuple[Fault, ...]:
    with pytest.raises(FaultsError) as caught:
        compiled(text)
    return caught.value.faults


HASH = "0123456789abcdef" * 4

# what is written from line 4 on, key, line, words of the message, words of the fix
BAD = [
    ("    colour: red\n", "agents[0].colour", 4, "unknown key colour", "the keys here are name, token"),
    ("    efects: []\n", "agents[0].efects", 4, "unknown key efects", "write effects"),
    ("    token: abc\n", "agents[0].token", 4, "not the hash of a token", "effectgate token new"),
    ("    ceiling: fixr\n    effects: [demo/read]\n", "agents[0].ceiling", 4, "no ceiling fixr", "write fixer"),
    ("    effects: [demo/raed]\n", "agents[0].effects[0]", 4, "no effect 'demo/raed'", "write 'demo/read'"),
    ("    effects: [zzz/qqq]\n", "agents[0].effects[0]", 4, "no effect 'zzz/qqq'", "packs list"),
    ("    effects: [read]\n", "agents[0].effects[0]", 4, "not an effect id", "PACK/EFFECT"),
    ("    effects: [7]\n", "agents[0].effects[0]", 4, "7 is not a table", "key = value"),
    ("    effects: []\n", "agents[0].effects", 4, "lists no effect", "packs list"),
    ("", "agents[0].effects", 3, "lists no effect", "packs list"),
    ("    effects: [demo/open]\n", "agents[0].effects", 4, "nothing is left", "write ceiling: fixer"),
    ("    effects: [demo/wipe]\n", "agents[0].effects", 4, "nothing is left", "within the ceiling"),
    ("    effects: [demo/bucket]\n", "agents[0].effects[0]", 4, "tenant parameter bucket", "where: {bucket: YOURS}"),
    (
        "    effects:\n      - effect: demo/read\n        where: {branch: x}\n",
        "agents[0].effects[0].where.branch", 6, "not every shape of demo/read binds branch", "owner, repo",
    ),
    (
        "    effects:\n      - {effect: demo/read, where: {owner: 7}}\n",
        "agents[0].effects[0].where.owner", 5, "7 is not a pattern", "quotes",
    ),
    (
        "    effects:\n      - {effect: demo/read, where: {owner: []}}\n",
        "agents[0].effects[0].where.owner", 5, "empty", "leave the key out",
    ),
    (
        '    effects:\n      - {effect: demo/read, where: {owner: ""}}\n',
        "agents[0].effects[0].where.owner", 5, "covers nothing", '"*" for any',
    ),
    (
        "    effects:\n      - {effect: demo/read, where: {owner: {not: x}}}\n",
        "agents[0].effects[0].where.owner", 5, "not a literal", '{is: "text"}',
    ),
    (
        "    effects:\n      - {effect: demo/read, sealed: abc}\n",
        "agents[0].effects[0].sealed", 5, "not the digest of an effect", "seal the entry anew",
    ),
    (
        "    effects:\n      - {effect: demo/read, credential: [abc]}\n",
        "agents[0].effects[0].credential[0]", 5, "not the hash of a credential", "receipt",
    ),
    ("    effects: [demo/read]\n    expires: 2027-01-31\n", "agents[0].expires", 5, "without a time", "2027-01-31T00:00:00Z"),
    ("    effects: [demo/read]\n    expires: 2027-01-31T00:00:00\n", "agents[0].expires", 5, "no time zone", "00:00Z"),
    ("    effects: [demo/read]\n    expires: soon\n", "agents[0].expires", 5, "not a time", "2027"),
    ("    effects: [demo/read]\n    limits: {requests: 0, per: day}\n", "agents[0].limits.requests", 5, "0 is not", "above 0"),
    ("    effects: [demo/read]\n    limits: {requests: 9007199254740992, per: day}\n", "agents[0].limits.requests", 5, "can be counted", "leave"),
    ("    effects: [demo/read]\n    expires: 9999-12-31T23:59:59-23:59\n", "agents[0].expires", 5, "no time in UTC", "a year"),
    ("    effects: [demo/read]\n    limits: {requests: 5}\n", "agents[0].limits.per", 5, "per is missing", "add"),
    ("    effects: [demo/read]\n    limits: {per: dai}\n", "agents[0].limits.per", 5, "not a period", "write day"),
    ("    effects: [demo/read]\n    escalation: aks\n", "agents[0].escalation", 5, "'aks'", "write 'ask'"),
    ("    effects: [demo/read]\n    observe: true\n", "agents[0].observe", 5, "not a table", "key"),
    ("    effects: [demo/read]\n  - name: ci\n    effects: [demo/read]\n", "agents[1].name", 5, "line 3", "another name"),
    (
        f"    effects: [demo/read]\n    token: sha256:{HASH}\n  - name: b\n    effects: [demo/read]\n    token: {HASH}\n",
        "agents[1].token", 8, "also that of the agent on line 3", "token new",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "key", "line", "message", "fix"), BAD, ids=[f"{row[1]}-{row[3]}" for row in BAD])
def test_a_fault_names_key_line_and_remedy(body: str, key: str, line: int, message: str, fix: str) -> None:
    found = [fault for fault in faults(agent(body)) if fault.key == key and message in fault.message]
    assert len(found) == 1, faults(agent(body))
    assert (found[0].file, found[0].line) == ("grants.yaml", line)
    assert fix in found[0].fix


HEADS = [
    ("agents: []\n", "version", "missing"),
    ("version: 2\n", "version", "version 2"),
    ("version: '1'\n", "version", "not a whole number"),
    ("version: 1\nagent: []\n", "agent", "unknown key"),
    ("version: 1\nagents: {}\n", "agents", "not a list"),
    ("version: 1\nagents: [x]\n", "agents[0]", "not a table"),
    ("version: 1\nagents: [{name: a b}]\n", "agents[0].name", "not the name of an agent"),
    ("- a\n", "", "not a table"),
]


@pytest.mark.parametrize(("text", "key", "message"), HEADS)
def test_faults_of_the_file(text: str, key: str, message: str) -> None:
    assert any(fault.key == key and message in fault.message for fault in faults(text)), faults(text)


def test_one_run_reports_the_faults_of_all_agents() -> None:
    text = agent(
        "    token: x\n    ceiling: none\n    effects: [demo/nope, {effect: demo/read, where: {zz: 1}}]\n", "a b"
    )
    found = {fault.key for fault in faults(text + "  - name: c\n    effects: [demo/open]\n    oops: 1\n")}
    assert found == {
        "agents[0].name",
        "agents[0].token",
        "agents[0].ceiling",
        "agents[0].effects[0]",
        "agents[0].effects[1].where.zz",
        "agents[1].effects",
        "agents[1].oops",
    }


FULL = f"""version: 1
agents:
  - name: ci-fixer
    token: "sha256:{HASH}"
    ceiling: fixer
    effects:
      - demo/read
      - {{effect: demo/open, where: {{owner: acme, repo: [web, "api-*", {{is: "x*"}}]}}, credential: "{HASH}"}}
      - {{effect: demo/open, where: {{owner: other}}}}
      - demo/wipe
    expires: 2027-01-31T01:00:00+01:00
    limits: {{requests: 5000, upload_bytes: 52428800, per: day}}
    escalation: ask
    goal: "why is CI red"
    observe: {{until: 2026-12-01T00:00:00Z}}
"""


def test_every_key_arrives() -> None:
    grant = compiled(FULL)["ci-fixer"]
    assert (grant.principal, grant.ceiling.name, grant.escalation) == ("ci-fixer", "fixer", "ask")
    assert grant.expires == datetime(2027, 1, 31, tzinfo=UTC)
    assert grant.limits is not None
    assert (grant.limits.requests, grant.limits.upload_bytes, grant.limits.seconds) == (5000, 52428800, 86400)
    assert (grant.goal, grant.observe) == ("why is CI red", datetime(2026, 12, 1, tzinfo=UTC))
    assert [(key, len(entries)) for key, entries in grant.entries.items()] == [("demo/read", 1), ("demo/open", 2)]
    first = grant.entries["demo/open"][0]
    assert first.where["repo"] == (ScopeValue("web"), ScopeValue("api-*"), ScopeValue("x*", literal=True))
    assert first.credential == {f"sha256:{HASH}"}
    assert first.profile.words() == {"create_pr": "low_risk"}
    assert grant.profile.within(grant.ceiling.profile)
    assert grant.catalog_digest == LIBRARY.catalog.digest
    assert token_hashes(read_yaml(FULL, "grants.yaml")) == {"ci-fixer": HASH}


def test_what_is_clipped_goes_to_cannot_and_not_to_entries() -> None:
    grant = compiled(FULL)["ci-fixer"]
    assert [(item.effect, item.reason) for item in grant.cannot] == [
        ("demo/wipe", "its risk destructive is above publish, the most of the ceiling fixer"),
    ]
    assert "demo/wipe" not in grant.entries


def test_defaults() -> None:
    grant = compiled(agent("    effects: [demo/read]\n"))["ci"]
    assert (grant.ceiling.name, grant.escalation, grant.expires, grant.limits) == ("read-only", "deny", None, None)
    assert (grant.observe, grant.cannot, grant.empty) == (None, (), False)


def test_a_time_may_stand_in_quotes() -> None:
    """YAML takes it for text then; programs that write YAML quote what they hold as text."""
    grant = compiled(agent('    effects: [demo/read]\n    expires: "2027-01-31T01:00:00+01:00"\n'))["ci"]
    assert grant.expires == datetime(2027, 1, 31, tzinfo=UTC)


def test_an_expired_grant_loads() -> None:
    assert not compiled(agent("    effects: [demo/read]\n    expires: 2020-01-01T00:00:00Z\n"))["ci"].empty


def test_a_grant_may_be_empty_while_it_observes() -> None:
    observing = "    effects: []\n    observe: {{until: {}-01-01T00:00:00Z}}\n"
    assert compiled(agent(observing.format(2027)))["ci"].empty
    assert [fault.key for fault in faults(agent(observing.format(2026)))] == ["agents[0].effects"]


def test_the_tenant_may_be_anyone_if_that_is_written() -> None:
    grant = compiled(agent('    effects: [{effect: demo/bucket, where: {bucket: "*"}}]\n'))["ci"]
    assert grant.entries["demo/bucket"][0].covers({"bucket": "mine"})


def sealed(digest: str) -> Grant:
    entry = f"{{effect: demo/read, sealed: '{digest}'}}"
    return compiled(agent(f"    ceiling: fixer\n    effects: [{entry}, demo/open]\n"))["ci"]


def test_a_seal_that_holds_changes_nothing() -> None:
    assert "demo/read" in sealed(LIBRARY.catalog.effects["demo/read"].digest).entries


def test_an_effect_that_changed_since_admits_nothing_and_says_so() -> None:
    grant = sealed(f"sha256:{HASH}")
    assert [*grant.entries] == ["demo/open"]
    assert "the effect has changed since the grant was sealed" in grant.cannot[0].reason


def test_a_grant_whose_only_seal_is_broken_loads_and_admits_nothing() -> None:
    grant = compiled(agent(f"    effects: [{{effect: demo/read, sealed: '{HASH}'}}]\n"))["ci"]
    assert grant.empty
    assert len(grant.cannot) == 1


def test_the_seal_of_an_agent_is_to_the_catalogue() -> None:
    body = "    effects: [demo/read]\n    sealed: '{}'\n"
    assert not compiled(agent(body.format(LIBRARY.catalog.digest)))["ci"].empty
    assert "the catalogue has changed" in compiled(agent(body.format(HASH)))["ci"].cannot[0].reason


def test_the_credential_of_an_agent_is_that_of_its_entries() -> None:
    grant = compiled(agent(f"    credential: {HASH}\n    effects: [demo/read]\n"))["ci"]
    assert grant.entries["demo/read"][0].credential == {f"sha256:{HASH}"}


def test_digest_and_id_follow_the_grant() -> None:
    grants = [compiled(text)["ci-fixer"] for text in (FULL, "# again\n" + FULL, FULL.replace("5000", "5001"))]
    assert grants[0].digest == grants[1].digest != grants[2].digest
    assert grants[0].id == "grant-" + grants[0].digest[7:23]


# scope, value, covered, covered with letters folded
SCOPES = [
    (ScopeValue("acme"), "acme", True, True),
    (ScopeValue("acme"), "ACME", False, True),
    (ScopeValue("acme"), "acme2", False, False),
    (ScopeValue("*"), "anything", True, True),
    (ScopeValue("*"), "a/b", False, False),
    (ScopeValue("a/*"), "a/b", True, True),
    (ScopeValue("a/*"), "a/b/c", False, False),
    (ScopeValue("api-*"), "api-", True, True),
    (ScopeValue("api-*-eu"), "api-x-eu", True, True),
    (ScopeValue("ab*ba"), "aba", False, False),
    (ScopeValue("*x*y*"), "axbyc", True, True),
    (ScopeValue("*x*y*"), "aybxc", False, False),
    (ScopeValue("x*", literal=True), "x*", True, True),
    (ScopeValue("x*", literal=True), "xy", False, False),
    (ScopeValue("X*", literal=True), "x*", False, True),
    (ScopeValue("a.c"), "abc", False, False),
]


@pytest.mark.parametrize(("scope", "value", "plain", "folded"), SCOPES)
def test_scopes(scope: ScopeValue, value: str, plain: bool, folded: bool) -> None:
    assert (scope.covers(value), scope.covers(value, fold=True)) == (plain, folded)


@given(st.text("ab*/", max_size=6), st.text("ab*/", max_size=6))
def test_a_literal_covers_itself_alone(text: str, value: str) -> None:
    assert ScopeValue(text, literal=True).covers(value) is (text == value)


@given(st.text("ab*/", max_size=8), st.lists(st.text("ab", max_size=3), min_size=9, max_size=9))
def test_a_pattern_covers_every_filling_of_its_stars(text: str, runs: list[str]) -> None:
    fillings = iter(runs)
    value = "".join(next(fillings) if character == "*" else character for character in text)
    assert ScopeValue(text).covers(value)


def test_a_hostile_value_takes_linear_time() -> None:
    started = time.process_time()
    assert not ScopeValue("*a*a*a*a*a*a*b").covers("a" * 100_000)
    assert time.process_time() - started < 1


def test_an_entry_needs_every_scoped_parameter() -> None:
    entry = GrantEntry("demo/read", {"owner": (ScopeValue("acme"), ScopeValue("me")), "repo": (ScopeValue("w*"),)})
    assert entry.covers({"owner": "me", "repo": "web", "other": "x"})
    assert not entry.covers({"owner": "me"})
    assert not entry.covers({"owner": "you", "repo": "web"})
    assert GrantEntry("demo/read").covers({})


def test_bare_ids_know_no_ceiling() -> None:
    grant = grant_of_ids(LIBRARY.catalog, ["demo/wipe", "demo/bucket", "demo/wipe"])
    assert [*grant.entries] == ["demo/wipe", "demo/bucket"]
    assert (grant.expires, grant.limits, grant.cannot) == (None, None, ())
    assert grant_of_ids(LIBRARY.catalog, []).empty


def test_an_unknown_bare_id_names_the_nearest() -> None:
    with pytest.raises(UnknownEffectError) as caught:
        grant_of_ids(LIBRARY.catalog, ["demo/raed"])
    assert caught.value.fix == "write 'demo/read'"


LEVELS = st.tuples(*[st.sampled_from(list(Level))] * len(OPERATIONS))


@given(LEVELS, st.sampled_from(list(Risk)), st.sets(st.sampled_from(["read", "open", "wipe"]), min_size=1))
def test_a_grant_never_exceeds_its_ceiling(levels: tuple[Level, ...], risk: Risk, names: set[str]) -> None:
    ceiling = Ceiling("read-only", "Any", risk, Profile(levels))
    document = read_yaml(
        agent(f"    effects: [{', '.join(f'demo/{name}' for name in sorted(names))}]\n"), "grants.yaml"
    )
    if all(ceiling.admits(LIBRARY.catalog.effects[f"demo/{name}"]) for name in names):
        with pytest.raises(FaultsError, match="nothing is left"):
            grants_of(document, LIBRARY.catalog, {"read-only": ceiling}, NOW)
        return
    grant = grants_of(document, LIBRARY.catalog, {"read-only": ceiling}, NOW)["ci"]
    assert grant.profile.within(ceiling.profile)
    assert all(LIBRARY.catalog.effects[held].risk <= risk for held in grant.entries)
    assert {*grant.entries, *(item.effect for item in grant.cannot)} == {f"demo/{name}" for name in names}
    assert not {*grant.entries} & {item.effect for item in grant.cannot}


def test_the_name_of_the_proxys_own_requests_is_reserved() -> None:
    (fault,) = faults(agent("    effects: [demo/read]\n", name="effectgate-canary"))
    assert (fault.key, fault.fix) == ("agents[0].name", "choose another name")


def test_equal_entries_and_too_many_are_faults() -> None:
    (fault,) = faults(agent("    effects: [demo/read, {effect: demo/read}]\n"))
    assert (fault.key, fault.message) == ("agents[0].effects[1]", "the same entry was already given on line 4")
    value = {"version": 1, "agents": [{"name": "ci", "effects": ["demo/read"] * 100_000}]}
    started = time.monotonic()
    with pytest.raises(FaultsError, match="100000 entries are more than the limit of 5000"):
        grants_of(Document("grants.yaml", value, lambda path: 1), LIBRARY.catalog, LIBRARY.ceilings, NOW)
    assert time.monotonic() - started < 5
