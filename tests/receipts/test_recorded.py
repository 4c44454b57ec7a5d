"""Receipts read back as the requests that they tell of; what was not kept is not made up."""

from __future__ import annotations

from typing import Any

import pytest

from effectgate.policy.facts import RequestFacts, facts_from_url
from effectgate.policy.traffic import facts_of
from effectgate.policy.verdict import Proposal, Verdict
from effectgate.policy.vocabulary import Decision, Reason, Risk
from effectgate.receipts.evidence import Evidence, PathMode
from effectgate.receipts.recorded import folded_refusals, recorded_of

NAMED = Verdict(Decision.ALLOW, Reason.NONE, "", effect="a/read", recognised=(), template="/{a}/b")


def receipt(facts: RequestFacts, paths: PathMode = "full", **more: Any) -> dict[str, Any]:
    args = Evidence(b"key", paths).request("me", facts, NAMED)
    return {
        "kind": "decision",
        "verdict": "ALLOW",
        "reason_code": "",
        "args": args,
        "policy": {"effect": "a/read"},
        **more,
    }


URLS = [
    "https://api.test/x/b",
    "https://api.test:8443/x/b",
    "http://api.test/x%2Fb",
    "https://[2001:db8::1]/",
    "wss://api.test/x",
]


@pytest.mark.parametrize("url", URLS)
def test_a_whole_path_gives_the_same_facts(url: str) -> None:
    facts = facts_from_url("GET", url)
    again = facts_of(recorded_of([receipt(facts)])[0])
    assert again is not None
    assert (again.method, again.scheme, again.host, again.port, again.path, again.websocket) == (
        facts.method, facts.scheme, facts.host, facts.port, facts.path, facts.websocket,
    )  # fmt: skip


def test_a_query_keeps_its_names_and_a_body_that_it_is_there() -> None:
    facts = facts_from_url("POST", "https://api.test/x?per_page=5&a[]=1&secret", body=b"x")
    found = recorded_of([receipt(facts)])[0]
    assert found.url == "https://api.test:443/x?per_page=&a%5B%5D=&%E2%80%A6="
    assert found.body


@pytest.mark.parametrize("paths", ["template", "hash"])
def test_a_path_that_was_not_kept_gives_no_url(paths: PathMode) -> None:
    found = recorded_of([receipt(facts_from_url("GET", "https://api.test/x/b"), paths)])[0]
    assert (found.url, found.host, found.effect) == ("", "api.test", "a/read")
    assert facts_of(found) is None


def test_asks_are_read_back() -> None:
    policy = {
        "would_admit": [{"effect": "a/x", "risk": "read", "where": {"o": ["p", {"is": "q*"}]}, "also": ["a/y"]}, 3]
    }
    found = recorded_of([receipt(facts_from_url("GET", "https://a.test/"), policy=policy, verdict="DENY")])[0]
    assert found.asks == (Proposal("a/x", "", Risk.READ, {"o": ("p", {"is": "q*"})}, ("a/y",)),)


OTHERS: list[dict[str, Any]] = [
    {},
    {"kind": "completion"},
    {"kind": "decision", "verdict": "ALLOW", "args": [1]},
    {"kind": "decision", "verdict": "MAYBE", "args": {"type": "http_request"}},
    {"kind": "decision", "verdict": "DENY", "args": {"type": "mcp_tool_call"}},
]


@pytest.mark.parametrize("other", OTHERS)
def test_what_tells_of_no_request_is_left_out(other: dict[str, Any]) -> None:
    assert recorded_of([other]) == []


def test_principals_are_told_apart() -> None:
    facts = facts_from_url("GET", "https://a.test/")
    assert len(recorded_of([receipt(facts)], frozenset({"me"}))) == 1
    assert recorded_of([receipt(facts)], frozenset({"you"})) == []


def test_folds_are_counted() -> None:
    assert folded_refusals([{"kind": "fold", "output": {"count": 7}}, {"kind": "fold"}, {"kind": "decision"}]) == 7
