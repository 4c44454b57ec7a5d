"""Recognition: which shapes match, and whether by the plain reading, in the request's own letters, and with their conditions."""

from __future__ import annotations

import pytest

from effectgate.policy.catalog import Catalog
from effectgate.policy.facts import facts_from_url
from effectgate.policy.recognition import recognise
from policy.build import effect, shape

CATALOG = Catalog.build(
    [
        effect("r/plain", "read", "GET a.test/x/{y}"),
        effect("r/action", "read", shape("GET a.test/q", query={"Act": "List"})),
        effect("r/asking", "read", shape("GET a.test/c", query_only=frozenset())),
        effect("r/port", "read", shape("GET a.test/p", scheme="http", ports=frozenset({80}))),
    ]
)


@pytest.mark.parametrize(
    ("request_", "flags"),
    [
        ("GET https://a.test/x/1", "named plain sure conditions"),
        ("GET https://a.test/%78/1", "named plain sure conditions"),
        ("GET https://a.test/X/1", "sure conditions"),
        ("GET https://a.test/x//1", "sure conditions"),
        ("GET https://a.test/x%2f1", "sure"),
        ("GET https://a.test/q?Act=List", "named plain sure conditions"),
        ("GET https://a.test/q?Act=List&act=Drop", "named plain conditions"),
        ("GET https://a.test/q?act=List", "plain conditions"),
        ("GET https://a.test/q?Act=%ff", "plain conditions"),
        ("GET https://a.test/c?x", "plain sure"),
        ("GET http://a.test/p", "named plain sure conditions"),
        ("GET https://a.test/x", None),
        ("GET https://a.test/q?Act=Drop", None),
        ("POST https://a.test/x/1", None),
        ("GET https://a.test/p", None),
        ("GET http://a.test/x/1", None),
        ("GET https://b.test/x/1", None),
    ],
)
def test_how_a_shape_matches(request_: str, flags: str | None) -> None:
    method, _, url = request_.partition(" ")
    matches = recognise(CATALOG.candidates(facts_from_url(method, url)), facts_from_url(method, url))
    assert len(matches) == (flags is not None)
    for match in matches:
        names = ("named", "plain", "sure", "conditions")
        assert " ".join(name for name in names if getattr(match, name)) == flags


def test_what_is_bound() -> None:
    catalog = Catalog.build([effect("r/e", "read", shape("GET {h}.a.test/{p}", query={"q": "{q}"}))])
    (match,) = recognise(
        catalog.candidates(facts_from_url("GET", "https://one.a.test/two?q=three")),
        facts_from_url("GET", "https://one.a.test/two?q=three"),
    )
    assert match.bound == {"h": "one", "p": "two", "q": "three"}
    assert match.combinations() == [match.bound]
    (match,) = recognise(
        catalog.candidates(facts_from_url("GET", "https://one.a.test/two;v?q=three&Q=four")),
        facts_from_url("GET", "https://one.a.test/two;v?q=three&Q=four"),
    )
    assert match.values() == {"h": {"one"}, "p": {"two", "two;v"}}
    assert {"h": "one", "p": "two"} in (match.combinations() or [])
