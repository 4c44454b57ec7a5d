"""Requests decided by what is in their body: JSON calls, batches and GraphQL, part by part (design.md section 2, rule 5)."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import GraphQL, Shape
from effectgate.policy.facts import RequestFacts, facts_from_url
from effectgate.policy.parts import MAX_PARTS
from effectgate.policy.value import ValuePattern
from effectgate.policy.verdict import Verdict
from policy.build import ask, effect, scoped, shape

JSON = ("content-type", "application/json")
CALL = "/method"
TOOL = "/params/name"


def graphql(operation: str, *fields: str) -> Shape:
    wanted = GraphQL(operation, tuple(ValuePattern.parse(field) for field in fields))
    return shape("POST GET api.test/graphql", graphql=wanted)


CATALOG = Catalog.build(
    [
        effect("mcp/list", "read", shape("POST mcp.test/mcp", json={CALL: ["tools/list", "initialize", "ping"]})),
        effect("mcp/look", "read", shape("POST mcp.test/mcp", json={CALL: "tools/call", TOOL: "get_*"})),
        effect("mcp/note", "publish", shape("POST mcp.test/mcp", json={CALL: "tools/call", TOOL: "note_{topic}"})),
        effect("mcp/call", "mutate_remote", shape("POST mcp.test/mcp", json={CALL: "tools/call"})),
        effect("mcp/other", "execute", shape("POST mcp.test/mcp")),
        effect("gql/read", "read", graphql("query")),
        effect("gql/look", "read", graphql("query", "viewer", "repo*")),
        effect("gql/issue", "publish", graphql("mutation", "createIssue", "addComment")),
        effect("gql/write", "mutate_remote", graphql("mutation")),
        effect("gql/delete", "destructive", graphql("mutation", "delete*"), reserved=True),
    ]
)


def rpc(*calls: tuple[str, Any]) -> bytes:
    made = [
        {"jsonrpc": "2.0", "id": at, "method": method, "params": params} for at, (method, params) in enumerate(calls)
    ]
    return json.dumps(made[0] if len(made) == 1 else made).encode()


def mcp(body: bytes, kind: str = "application/json", *more: tuple[str, str]) -> RequestFacts:
    return facts_from_url("POST", "https://mcp.test/mcp", [("content-type", kind), *more], body)


def query(text: str | None = None, **members: Any) -> RequestFacts:
    body = json.dumps({**({} if text is None else {"query": text}), **members}).encode()
    return facts_from_url("POST", "https://api.test/graphql", [JSON], body)


def brief(verdict: Verdict) -> str:
    """`effect` on ALLOW, else the effects that would admit, each with what must come along."""
    if verdict.allowed:
        return f"+{verdict.effect}"
    return " ".join("+".join((proposal.effect, *proposal.also)) for proposal in verdict.would_admit)


GET_ITEM = ("tools/call", {"name": "get_item"})
DROP = ("tools/call", {"name": "drop_all"})
NOTE = ("tools/call", {"name": "note_x"})
# Only the effect without discriminators names what cannot be read, and all that could be meant block it.
UNREAD = "mcp/other+mcp/call+mcp/note"


@pytest.mark.parametrize(
    ("granted", "facts", "answer"),
    [
        ("mcp/list", mcp(rpc(("tools/list", {}))), "+mcp/list"),
        ("mcp/look", mcp(rpc(GET_ITEM)), "+mcp/look"),
        ("mcp/look", mcp(rpc(DROP)), "mcp/call mcp/other+mcp/call"),
        ("mcp/look", mcp(gzip.compress(rpc(GET_ITEM)), "application/json", ("content-encoding", "gzip")), "+mcp/look"),
        ("mcp/look", mcp(rpc(GET_ITEM), "application/json; charset=utf-16"), UNREAD),
        ("mcp/look", mcp(rpc(GET_ITEM), "text/plain"), UNREAD),
        ("mcp/look", mcp(b'{"method":"tools/call","params":{"name":"get_item"},"Method":"tools/call"}'), "+mcp/look"),
        ("mcp/look", mcp(b'{"method":"tools/call","method":"x","params":{"name":"get_item"}}'), UNREAD),
        ("mcp/look", mcp(b'{"method":"tools/call","params":["get_item"]}'), "mcp/call mcp/other+mcp/call+mcp/note"),
        ("mcp/look", mcp(rpc(GET_ITEM, GET_ITEM)), "+mcp/look"),
        ("mcp/look mcp/list", mcp(rpc(GET_ITEM, ("ping", None))), "+mcp/look"),
        ("mcp/look mcp/note", mcp(rpc(GET_ITEM, NOTE)), "+mcp/note"),
        ("mcp/look", mcp(rpc(GET_ITEM, ("ping", None))), "mcp/list mcp/other"),
        ("mcp/list", mcp(rpc(GET_ITEM, ("ping", None))), "mcp/look mcp/call mcp/other+mcp/call"),
        ("", mcp(rpc(GET_ITEM, ("ping", None))), None),
        ("gql/look", query("{ viewer { login } repository { id } }"), "+gql/look"),
        ("gql/look", query("{ viewer { login } users { id } }"), "gql/read"),
        ("gql/read", query("{ viewer { login } users { id } }"), "+gql/read"),
        ("gql/read", query("mutation { createIssue { id } }"), "gql/issue gql/write"),
        ("gql/issue", query("mutation { createIssue { id } }"), "+gql/issue"),
        ("gql/issue", query("mutation { createIssue { id } archive { id } }"), "gql/write"),
        ("gql/write", query("mutation { createIssue { id } deleteRef { id } }"), "gql/delete gql/write+gql/delete"),
        ("gql/issue gql/read", query("query Q { viewer { id } } mutation M { createIssue { id } }", operationName="M"), "+gql/issue"),
        ("gql/read", query("query Q { viewer { id } } mutation M { createIssue { id } }", operationName="M"), "gql/issue gql/write"),
        ("gql/read", query("query Q { viewer { id } } mutation M { createIssue { id } }"), ""),
        ("gql/read", query(extensions={"persistedQuery": {"sha256Hash": "0"}}), ""),
        ("gql/read", query("{ viewer { id } }", extensions={"persistedQuery": {"sha256Hash": "0"}}), ""),
        ("gql/read", query("{ viewer { id } }", documentId="7"), ""),
        ("gql/read", query("{ viewer { id } }", Query="mutation { deleteRef }"), ""),
        ("gql/read", facts_from_url("GET", "https://api.test/graphql?query=%7B%20a%20%7D"), "+gql/read"),
        ("gql/read", facts_from_url("GET", "https://api.test/graphql?query=%7Ba%7D&Query=%7Bb%7D"), ""),
        ("gql/read", facts_from_url("GET", "https://api.test/graphql"), ""),
        ("gql/read", facts_from_url("POST", "https://api.test/graphql", [("content-type", "application/graphql")], b"{ a }"), "+gql/read"),
        ("gql/read", facts_from_url("POST", "https://api.test/graphql?query=%7Ba%7D", [JSON], b'{"query":"{ a }"}'), ""),
    ],
)  # fmt: skip
def test_parts(granted: str, facts: RequestFacts, answer: str | None) -> None:
    verdict = ask(CATALOG, granted, facts)
    if answer is not None:
        assert brief(verdict) == answer, verdict.reason
    for proposal in verdict.would_admit:
        assert ask(CATALOG, " ".join((granted, proposal.effect, *proposal.also)), facts).allowed, proposal


def test_a_body_that_is_not_held_is_unreadable() -> None:
    facts = facts_from_url("POST", "https://api.test/graphql", [JSON]).with_body(None)
    assert not ask(CATALOG, "gql/read gql/look gql/issue gql/write", facts).allowed
    assert CATALOG.inspect_bytes(facts) == 64 * 1024


def test_a_reserved_effect_blocks_what_cannot_be_read() -> None:
    catalog = Catalog.build([*CATALOG.effects.values(), effect("gql/any", "destructive", "POST api.test/graphql")])
    unread = facts_from_url("POST", "https://api.test/graphql", [JSON]).with_body(None)
    verdict = ask(catalog, "gql/any", unread)
    assert not verdict.allowed
    assert [(p.effect, p.also) for p in verdict.would_admit] == [("gql/any", ("gql/delete",))]


def test_a_part_that_nothing_names_leaves_nothing_to_ask_for() -> None:
    catalog = Catalog.build([effect("mcp/look", "read", shape("POST mcp.test/mcp", json={TOOL: "get_*"}))])
    verdict = ask(catalog, "", mcp(rpc(GET_ITEM, DROP)))
    assert not verdict.would_admit
    assert ask(catalog, "mcp/look", mcp(rpc(GET_ITEM, DROP))).reason.startswith("Part 2 of 2: No effect")


def test_more_parts_than_can_be_weighed_are_unreadable() -> None:
    assert ask(CATALOG, "mcp/look", mcp(rpc(*[GET_ITEM] * MAX_PARTS))).allowed
    assert not ask(CATALOG, "mcp/look", mcp(rpc(*[GET_ITEM] * (MAX_PARTS + 1)))).allowed


def test_scopes_bind_values_of_a_document() -> None:
    grant = scoped(CATALOG, ("mcp/note", {"topic": "x"}))
    assert ask(CATALOG, grant, mcp(rpc(NOTE))).allowed
    refused = ask(CATALOG, grant, mcp(rpc(NOTE, ("tools/call", {"name": "note_y"}))))
    assert not refused.allowed
    assert refused.would_admit[0].where == {"topic": "y"}
