"""The trees that find neighbours against asking every pair: what meets is found, once."""

from __future__ import annotations

import itertools
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from effectgate.policy.effect import Effect, Shape
from effectgate.policy.neighbours import Placed, Tree, host_word, neighbours
from effectgate.policy.pack import Pack
from policy.build import effect, shape

HOSTS = [
    "a.test.example",
    "b.test.example",
    "{h}.test.example",
    "*.test.example",
    "*.example.test",
    "a.*.test.example",
    "test.example",
]
PATHS = ["/", "/a", "/A", "/{x}", "/a{x}", "/a/", "/a/b", "/a/{x}", "/{x}/b", "/*", "/a*", "/a/*", "/*/b", "/a/*/b", "/a/b/c"]  # fmt: skip
SHAPES = st.builds(lambda host, path: shape(f"GET {host}{path}"), st.sampled_from(HOSTS), st.sampled_from(PATHS))
EFFECT: Effect = effect("demo/one", "read", "GET a.test/")
NO_PACK = cast(Pack, None)  # neighbours are found by their shapes alone


@settings(max_examples=200, deadline=None)
@given(st.lists(SHAPES, max_size=8))
def test_every_pair_that_meets_is_found_once(shapes: list[Shape]) -> None:
    rows = [Placed(NO_PACK, EFFECT, one) for one in shapes]
    found = [frozenset({one, two}) for one, two in neighbours(rows)]
    assert len(found) == len(set(found))
    for one, two in itertools.combinations(rows, 2):
        if one.shape.host.intersects(two.shape.host) and one.shape.path.intersects(two.shape.path):
            assert frozenset({one, two}) in found


def test_pairs_at_hosts_or_paths_apart_are_not_asked() -> None:
    rows = [Placed(NO_PACK, EFFECT, shape(text)) for text in ("GET a.test/x/{y}", "GET a.test/z/{y}", "GET b.test/x/1")]
    assert list(neighbours(rows)) == []


def test_a_word_ends_at_its_star() -> None:
    tree: Tree[str] = Tree()
    tree.add(host_word(shape("GET *.s3.amazonaws.example/").host), "s3")
    assert list(tree.meeting(("example", "amazonaws", "s3", "b", "c"))) == ["s3"]
    assert list(tree.meeting(("example", "amazonaws", "ec2"))) == []
