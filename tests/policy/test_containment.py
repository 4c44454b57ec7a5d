"""Containment of shapes: rows, and against every request of a small world."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from effectgate.policy.containment import contained, overlaps, strictly_contained
from effectgate.policy.discriminator import Truth, evaluate
from effectgate.policy.effect import GraphQL, Shape
from effectgate.policy.facts import RequestFacts, facts_from_url
from effectgate.policy.value import ValuePattern
from policy.build import shape

A = "GET a.test/x/{y}"


def fields(*names: str) -> GraphQL:
    return GraphQL("query", tuple(ValuePattern.parse(name) for name in names))


def made(text: str, **keys: Any) -> Shape:
    return shape(text, **keys)


@pytest.mark.parametrize(
    ("part", "whole", "within"),
    [
        (made(A), made("GET a.test/x/*"), True),
        (made(A), made("GET POST a.test/x/*"), True),
        (made(A), made("GET *.test.example/x/*"), False),
        (made("GET a.b.test/x"), made("GET *.b.test/x"), True),
        (made("GET {h}.b.test/x"), made("GET *.b.test/x"), True),
        (made("GET *.b.test/x"), made("GET {h}.b.test/x"), False),
        (made("GET *.a.b.test/x"), made("GET *.b.test/x"), True),
        (made("GET *.b.test/x"), made("GET *.*.b.test/x"), False),
        (made("GET POST a.test/x"), made("GET a.test/*"), False),
        (made(A, scheme="http"), made("GET a.test/*"), False),
        (made(A, ports=frozenset({443, 8443})), made("GET a.test/*"), False),
        (made(A), made("GET a.test/*", ports=frozenset({443, 8443})), True),
        (made(A, query={"q": "Get"}), made(A), True),
        (made(A), made(A, query={"q": "*"}), False),
        (made(A, query={"q": "Get"}), made(A, query={"q": "G*"}), True),
        (made(A, query={"q": ["Get", "Go"]}), made(A, query={"q": ["G*", "x"]}), True),
        (made(A, query={"q": ["Get", "Put"]}), made(A, query={"q": "G*"}), False),
        (made(A, query={"q": "{x}"}), made(A, query={"q": "*"}), True),
        (made(A, query={"q": "*"}), made(A, query={"q": "{x}"}), False),
        (made(A, query={"q": "g"}, fold=True), made(A, query={"q": "g*"}), False),
        (made(A, query={"q": "g"}, fold=True), made(A, query={"q": "G*"}, fold=True), True),
        (made(A, query={"q": "*"}, fold=True), made(A, query={"q": "*"}), False),
        (made("GET a.test/", query={"q": "*"}, fold=True), made("GET a.test/", query={"q": "*"}), False),
        (made(A, headers={"h": "v"}), made(A, form={"h": "v"}), False),
        (made(A, form={"h": "v"}), made(A, form={"h": "*"}), True),
        (made(A), made(A, query_only=frozenset(), absent=frozenset({"h"})), True),
        (made(A, body=True, encoded_slash=True), made(A), True),
        (made(A, graphql=fields("a")), made(A, graphql=fields()), True),
        (made(A, graphql=fields()), made(A, graphql=fields("a")), False),
        (made(A, graphql=fields("createIssue")), made(A, graphql=fields("create*")), True),
        (made(A, graphql=fields("create*")), made(A, graphql=fields("createIssue", "updateIssue")), False),
        (made(A, graphql=fields("a", "b")), made(A, graphql=fields("a", "b", "c")), True),
        (made(A, json={"/m": "get_*"}), made(A, json={"/m": "*"}), True),
        (made(A, json={"/m": "get_*"}), made(A, json={"/M": "*"}), False),
        (made(A, graphql=GraphQL("mutation")), made(A), True),
        (made(A), made(A, graphql=GraphQL("mutation")), False),
    ],
)
def test_rows(part: Shape, whole: Shape, within: bool) -> None:
    assert contained(part, whole) is within


SHAPES = [
    made(text, **keys)
    for text in ("GET a.test/x", "GET a.test/{y}", "GET POST a.test/*", "GET *.a.test/x/*", "POST {h}.a.test/{y}", "GET a.test/*x")
    for keys in ({}, {"query": {"q": "a*"}}, {"query": {"q": "a"}, "fold": True}, {"query": {"q": "{v}"}}, {"headers": {"h": "a"}})
]  # fmt: skip
REQUESTS = [
    facts_from_url(method, f"https://{host}{path}{query}", headers)
    for method, host, path, query, headers in itertools.product(
        ("GET", "POST"),
        ("a.test", "b.a.test", "c.b.a.test"),
        ("/x", "/X", "/y", "/x/y", "/X/y", "/x/", "/y/x"),
        ("", "?q=a", "?q=A", "?Q=a", "?q=ab", "?q=b", "?q="),
        ([], [("h", "a")], [("h", "A")]),
    )
]


def taken(one: Shape, facts: RequestFacts) -> bool:
    return (
        facts.method in one.methods
        and one.host.match(facts.host) is not None
        and one.path.match(facts.segments) is not None
        and evaluate(one, facts, False)[0] is Truth.TRUE
    )


def test_against_every_request_of_a_small_world() -> None:
    sets = {one: {at for at, facts in enumerate(REQUESTS) if taken(one, facts)} for one in SHAPES}
    for one, two in itertools.product(SHAPES, repeat=2):
        shown = [
            (s.host.text, s.path.text, {n: v[0].text for n, v in {**s.query, **s.headers}.items()}, s.fold)
            for s in (one, two)
        ]
        assert contained(one, two) is (sets[one] <= sets[two]), shown
        assert strictly_contained(one, two) is (sets[one] < sets[two]), shown
        assert overlaps(one, two) or not sets[one] & sets[two], shown
