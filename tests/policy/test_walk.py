"""Walks of patterns, segment by segment."""

from __future__ import annotations

import pytest

from effectgate.policy.path import PathPattern
from effectgate.policy.walk import DEAD, PASSED, GlobWalk, Walk


def walked(walk: Walk, path: str) -> int:
    state = walk.start
    for text in path[1:].split("/"):
        state = walk.step(state, text)
    return state


@pytest.mark.parametrize(
    ("pattern", "path", "state"),
    [
        ("/a/{x}", "/a/b", 2),
        ("/a/{x}", "/a", 1),
        ("/a/{x}", "/b/b", DEAD),
        ("/a/{x}", "/a/b/c", DEAD),
        ("/a/b*", "/a/bc/d/e", PASSED),
        ("/a/b*", "/a/c/b", DEAD),
    ],
)
def test_segments(pattern: str, path: str, state: int) -> None:
    assert walked(PathPattern.parse(pattern).walk, path) == state


@pytest.mark.parametrize("pattern", ["/a/{x}", "/a*", "/{x}.git/b", "/a/*/b", "/*a/b*", "/*", "/"])
@pytest.mark.parametrize("path", ["/", "/a", "/a/b", "/a//b", "/a/c/b", "/aa/b/c", "/w.git/b", "/A/b"])
def test_it_accepts_what_the_pattern_matches(pattern: str, path: str) -> None:
    parsed, segments = PathPattern.parse(pattern), tuple(path[1:].split("/"))
    assert parsed.walk.accepts(walked(parsed.walk, path)) is (parsed.match(segments) is not None)
    assert parsed.caseless.accepts(walked(parsed.caseless, path.casefold())) is (
        parsed.bind(segments, True) is not None
    )


def test_fragments_in_order() -> None:
    walk = PathPattern.parse("/*a/b*c;d").walk
    assert isinstance(walk, GlobWalk)
    assert [walk.finds_fragments(text) for text in ("xa/b/c;d", "a;v/b/cd", "b/a/c/d", "a/b/d")] == [
        True,
        True,
        False,
        False,
    ]
