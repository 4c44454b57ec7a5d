"""Requests made from shapes: each is named by the shape it came from."""

from __future__ import annotations

from typing import Any

import pytest

from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect, GraphQL, Shape
from effectgate.policy.recognition import recognise
from effectgate.policy.value import ValuePattern
from effectgate.policy.vocabulary import Risk
from effectgate.policy.witness import witnesses
from policy.build import shape


def made(text: str, **keys: Any) -> Shape:
    return shape(text, **keys)


SHAPES = [
    (made("GET a.test/x/{y}"), ["GET https://a.test/x/y"]),
    (made("GET HEAD a.test/"), ["GET https://a.test/", "HEAD https://a.test/"]),
    (made("POST *.a.test/x/{y}.git/v*"), ["POST https://any.a.test/x/y.git/vany", "POST https://any.a.test/x/y.git/vany/any",
                                          "POST https://any.a.test/x/y.git/v"]),
    (made("GET {the_site}.a.test/a/*/b"), ["GET https://the-site.a.test/a/any/b", "GET https://the-site.a.test/a/any/any/b"]),
    (made("GET a.test/a\"b/ü", query={"q": ["x y", "z*"]}), ["GET https://a.test/a%22b/%C3%BC?q=x+y", "GET https://a.test/a%22b/%C3%BC?q=zany"]),
    (made("GET a.test/x", ports=frozenset({8443}), ports_explicit=True), ["GET https://a.test:8443/x"]),
    (made("GET a.test/x", scheme="http", ports=frozenset({80})), ["GET http://a.test/x"]),
    (made("POST a.test/x", headers={"x-act": "Get*"}), ["POST https://a.test/x -H 'x-act: Getany'"]),
    (made("POST a.test/x", form={"Action": "{act}"}),
     ["POST https://a.test/x -H 'content-type: application/x-www-form-urlencoded' --data 'Action=act'"]),
    (made("POST a.test/x", json={"/params/name": "get_{x}"}),
     ["""POST https://a.test/x -H 'content-type: application/json' --data '{"params": {"name": "get_x"}}'"""]),
    (made("POST a.test/x", graphql=GraphQL("mutation", (ValuePattern.parse("createIssue"),))),
     ["""POST https://a.test/x -H 'content-type: application/json' --data '{"query": "mutation { createIssue }"}'"""]),
]  # fmt: skip


@pytest.mark.parametrize(("one", "written"), SHAPES, ids=[row[1][0] for row in SHAPES])
def test_each_is_named_by_its_shape(one: Shape, written: list[str]) -> None:
    catalog = Catalog.build([Effect("demo/one", "One", Risk.PUBLISH, ("web_fetch",), shapes=(one,))])
    found = list(witnesses(one))
    assert [str(witness) for witness in found] == written
    for witness in found:
        assert witness.queried().url.endswith("any=any")
        facts = witness.facts()
        assert facts is not None
        assert [match.named for match in recognise(catalog.candidates(facts), facts)] == [True]
