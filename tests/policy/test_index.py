"""The index against trying every shape, and how little it looks at."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effectgate.policy.catalog import Catalog
from effectgate.policy.discriminator import Truth, evaluate
from effectgate.policy.facts import facts_from_url
from effectgate.policy.index import entry_of
from policy.build import effect, shape
from policy.worlds import World


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**32))
def test_it_finds_every_shape_that_matches_on_some_reading(seed: int) -> None:
    world = World(seed)
    facts, catalog = world.spelled().facts, world.catalog
    if facts is None:
        return
    expected = {
        s
        for e in world.effects
        for s in catalog.shapes(e.id)
        if s.host.match(facts.host) is not None
        and (not s.methods or facts.method in s.methods)
        and facts.readings.matches(s.path)
        and evaluate(s, facts, True)[0] is not Truth.FALSE
    }
    found = [entry.shape for entry in catalog.candidates(facts)]
    assert expected <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("pattern", "host"),
    [
        ("api.test", "api.test"),
        ("*.api.test", "a.b.api.test"),
        ("a.*.*.api.test", "a.b.c.d.api.test"),
        ("{x}.api.test", "a.api.test"),
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "[2001:db8::1]"),
        ("localhost", "localhost"),
    ],
)
def test_hosts(pattern: str, host: str) -> None:
    catalog = Catalog.build([effect("a/e", "read", shape(f"GET {pattern}/x"))])
    assert len(catalog.candidates(facts_from_url("GET", f"https://{host}/x"))) == 1
    assert not catalog.candidates(facts_from_url("GET", "https://other.example/x"))


def test_many_stars_on_a_hostile_host_cost_little() -> None:
    catalog = Catalog.build([effect("a/e", "read", "GET " + "*.a." * 12 + "b.test/x")])
    facts = facts_from_url("GET", f"https://{'a.' * 120}b.test/x")
    begin = time.perf_counter()
    catalog.candidates(facts)
    assert time.perf_counter() - begin < 5


def test_few_candidates_of_many_effects() -> None:
    effects = [
        effect(f"a/e{n}", "read", f"GET api.test/k{n}/{{x}}", f"GET api.test/t{n}*", f"GET api.test/p{n}-{{x}}/y")
        for n in range(500)
    ]
    catalog = Catalog.build(effects)
    for path, count in {"/k7/z": 1, "/t77": 2, "/p5-a/y": 1, "/k7//z": 1, "/p5-a;v/y": 1, "/none": 0}.items():
        assert len(catalog.candidates(facts_from_url("GET", f"https://api.test{path}"))) == count, path


ORDER = [  # most specific first (design.md section 2, rule 3)
    "GET a.test/x/y/z",
    "GET a.test/x/y/*",
    "GET a.test/x/{y}.git/z",
    "GET a.test/x/{y}/z",
    "GET a.b.test/x/{y}",
    "GET {h}.b.test/x/{y}",
    "GET *.b.test/x/{y}",
    "GET a.test/x/*",
    "GET a.test/x",
    "GET a.test/*",
]


def test_specificity() -> None:
    ranks = [entry_of(e, e.shapes[0]).rank for n, text in enumerate(ORDER) if (e := effect(f"a/{n}", "read", text))]
    assert ranks == sorted(ranks)


def test_more_exact_values_then_less_risk_then_id() -> None:
    rows = [
        effect("a/z", "destructive", shape("GET a.test/x", query={"a": "1", "b": "2"})),
        effect("a/y", "destructive", shape("GET a.test/x", query={"a": "1", "b": "*"})),
        effect("a/w", "read", shape("GET a.test/x", query={"b": "*"})),
        effect("a/u", "publish", "GET a.test/x"),
        effect("a/v", "publish", "GET a.test/x"),
    ]
    ranks = [entry_of(e, e.shapes[0]).rank for e in rows]
    assert ranks == sorted(ranks)


def test_a_vouch_is_least_specific() -> None:
    catalog = Catalog.build([effect("a/v", "read", hosts=("a.test",)), effect("a/e", "read", "GET a.test/*")])
    vouch, written = (entry_of(catalog.effects[e], catalog.shapes(e)[0]).rank for e in ("a/v", "a/e"))
    assert written < vouch


AWS = [("content-type", "application/x-www-form-urlencoded")]


@pytest.mark.parametrize(
    ("url", "body", "found"),
    [
        ("https://a.test/", b"Action=Act7", 2),
        ("https://a.test/", b"Action=act7", 2),
        ("https://a.test/", b"action=Act7&x=1", 2),
        ("https://a.test/", b"Action=Nothing", 1),
        ("https://a.test/", b"", 1),
        ("https://a.test/", b"Action=Act7&Action=Act8", 51),
        ("https://a.test/?Action=Act8", b"Action=Act7", 51),
        ("https://a.test/", b"Action=%ff", 51),
        ("https://a.test//", b"Action=Act7", 2),
    ],
)
def test_shapes_that_differ_in_one_literal_value_are_told_apart(url: str, body: bytes, found: int) -> None:
    acts = [shape("POST a.test/", form={"Action": [f"Act{n}", f"Old{n}"]}) for n in range(50)]
    catalog = Catalog.build([effect("a/e", "read", *acts), effect("a/any", "read", shape("POST a.test/"))])
    assert len(catalog.candidates(facts_from_url("POST", url, AWS, body))) == found
