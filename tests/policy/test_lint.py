"""Hazards: each is found with its kind and place, and none refuses a load."""

from __future__ import annotations

import pytest
from library import effect, example, library

from effectgate.policy.lint import lint

ROW = '{{ method = "{}", host = "{}", path = "{}" }}'


def shaped(
    name: str,
    risk: str = "read",
    path: str = "/x/{id}",
    host: str = "api.example.com",
    method: str = "GET",
    more: str = "",
) -> str:
    return effect(name, risk, ROW.format(method, host, path).replace(" }", more + " }"), f'"{host}"')


def tools(name: str, risk: str, matches: str) -> str:
    return effect(name, risk, http="", hosts="", operations='"run_bash"', matches=matches)


# kind, the pack, key of the first, its line, words of the message
FOUND = [
    ("shapeless", effect(http=""), "effect[0]", 4, "every GET, HEAD and OPTIONS"),
    ("shapeless", effect(risk="publish", http=""), "effect[0]", 4, "admits every request"),
    ("unused-host", effect(hosts='"api.example.com", "b.example.com"'), "effect[0]", 4, "b.example.com"),
    ("never", effect(more='level = "never"\n'), "effect[0]", 4, "no grant can hold it"),
    ("fragment", tools("a", "read", 'commands = ["aws iam put-"]\n'), "effect[0]", 4, "aws iam put-"),
    ("fragment", tools("a", "read", 'commands = ["aws s3 cp s3://"]\n'), "effect[0]", 4, "s3://"),
    ("file-risk", tools("a", "read", 'files = [{ op = "delete", path = "/w/*" }]\n'), "effect[0]", 4, "delete of /w/*"),
    ("middle-star", shaped("a", path="/a/*/b"), "effect[0].matches.http[0]", 13, "/a/*/b"),
    ("private-suffix", shaped("a", host="*.github.io"), "effect[0].matches.http[0]", 13, "github.io"),
    ("cleartext", shaped("a", more=', scheme = "http"'), "effect[0].matches.http[0]", 13, "without TLS"),
    ("large-inspect", shaped("a", more=', inspect = "1 GiB"'), "effect[0].matches.http[0]", 13, "1073741824 bytes"),
    ("unreachable", shaped("a", "publish", method="TRACE"), "effect[0].matches.http[0]", 13, "never forwarded"),
    ("untested", effect(), "effect[0]", 4, "no example names demo/one"),
    ("covering", effect(http=ROW.format("GET", "api.example.com", "/x/{id}") + ",\n" + ROW.format("GET", "api.example.com", "/x/*")),
     "effect[0].matches.http[1]", 14, "the shape /x/* of demo/one covers its neighbour /x/{id}"),
    ("wide-host", shaped("a", host="*.example.com") + shaped("b", path="/y"), "effect[0].matches.http[0]", 13,
     "among them api.example.com of demo/b"),
    ("document-argument", shaped("a", "publish", method="POST",
        more=', graphql = { operation = "mutation" }, json = { "/variables/team" = "{team}" }'),
     "effect[0].matches.http[0]", 13, "/variables/team"),
    ("overlap", shaped("a", more=', query = { q = "1" }') + shaped("b", "publish", path="/x/{id}", more=', query = { q = ["1", "2"], r = "1" }')
     + shaped("c", "publish", path="/{a}/1"), "effect[0].matches.http[0]", 13, "neither all of the other's: /x/{id} and /{a}/1"),
    ("shadowed", shaped("a") + shaped("b", path="/x/*"), "effect[0].matches.http[0]", 13, "demo/b admits all"),
    ("overlap", shaped("a", path="/x/{id}/b") + shaped("b", "publish", path="/x/a/{id}"), "effect[0].matches.http[0]", 13, "demo/b"),
    ("overlap", shaped("a", host="a.{site}.example.com") + shaped("b", "publish", "/*", "{app}.b.example.com"),
     "effect[0].matches.http[0]", 13, "the riskier demo/b"),
    ("tool-risks", tools("a", "read", 'mcp_tools = ["t"]\n') + tools("b", "publish", 'mcp_tools = ["t"]\n'),
     "effect[0].matches.mcp_tools", 12, "demo/a, demo/b"),
    ("command-risks", tools("a", "publish", 'commands = ["t"]\n') + tools("b", "read", 'commands = ["t"]\n'),
     "effect[1].matches.commands", 21, "demo/a, demo/b"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "key", "line", "message"), FOUND, ids=[f"{row[0]}-{row[4]}" for row in FOUND])
def test_a_hazard_has_its_kind_and_place(kind: str, text: str, key: str, line: int, message: str) -> None:
    loaded = library({"demo": text})
    found = [fault for fault in lint(loaded.packs, loaded.catalog) if fault.hazard == kind and message in fault.message]
    assert [(fault.file, fault.key, fault.line) for fault in found] == [("demo.toml", key, line)]
    assert found[0].fix
    assert f"[{kind}]" in str(found[0])


RESERVED = effect("a", more="reserved = true\n", http=ROW.format("GET", "api.example.com", "/x/{id}"))

QUIET = [
    ("a private suffix bound as tenant", shaped("a", host="{site}.github.io", more=', tenant = ["site"]')),
    ("a last star", shaped("a", path="/x/*")),
    ("a read within a riskier effect", shaped("a") + shaped("b", "publish", path="/x/*")),
    ("a reserved effect within another", RESERVED + shaped("b", path="/x/*")),
    ("values that differ", shaped("a", more=', query = { q = "1" }') + shaped("b", "publish", more=', query = { q = "2" }')),
    ("methods that differ", shaped("a") + shaped("b", "publish", path="/*", method="POST")),
    ("two acts that are asked for apart",
     shaped("a", more=', query = { q = "1" }') + shaped("b", "publish", path="/{a}/1", more=', headers = { act = "2" }')),
    ("a header that the other rules out",
     shaped("a", more=', absent = ["act"]') + shaped("b", "publish", path="/{a}/1", more=', headers = { act = "2" }')),
    ("a query that the other rules out", shaped("a", more=", query_only = []") + shaped("b", "publish", path="/{a}/1", more=', query = { q = "2" }')),
    ("a wide shape that asks more of the query", effect(http=ROW.format("GET", "api.example.com", "/x/{id}") + ",\n"
        + ROW.format("GET", "api.example.com", "/x/*").replace(" }", ", query_only = [] }"))),
    ("a reason for going without TLS", shaped("a", more=', scheme = "http", because = "signed"')),
    ("a word that ends in a dash only", tools("a", "read", 'commands = ["tar -"]\n')),
]  # fmt: skip


@pytest.mark.parametrize("text", [row[1] for row in QUIET], ids=[row[0] for row in QUIET])
def test_what_is_no_hazard(text: str) -> None:
    loaded = library({"demo": text})
    assert {fault.hazard for fault in lint(loaded.packs, loaded.catalog)} <= {"untested"}


def test_an_example_answers_untested() -> None:
    loaded = library({"demo": effect() + example("GET https://api.example.com/items/7", "allow", "demo/one")})
    assert lint(loaded.packs, loaded.catalog) == []


def test_what_many_shapes_share_is_told_once() -> None:
    rows = ",\n".join(ROW.format("GET", "*.github.io", f"/{n}") for n in range(5))
    loaded = library({"demo": effect(http=rows, hosts='"*.github.io"')})
    assert [fault.hazard for fault in lint(loaded.packs, loaded.catalog)].count("private-suffix") == 1
