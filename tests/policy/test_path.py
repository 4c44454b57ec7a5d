"""Path patterns: the published vectors, what they bind, what is refused at load, containment against brute force."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effectgate.policy import language
from effectgate.policy.facts import EnvelopeError, facts_from_url
from effectgate.policy.fault import PatternError
from effectgate.policy.path import PathPattern

VECTORS = Path(__file__).parents[1] / "data" / "packs" / "matching_vectors.jsonl"
ROWS = [row for line in VECTORS.read_text().splitlines() if (row := json.loads(line))["kind"] == "path_match"]


def matched(pattern: str, path: str) -> bool | str:
    """Our answer to a vector."""
    try:
        parsed = PathPattern.parse(pattern)
    except PatternError:
        return "pattern refused"
    try:
        return parsed.match(facts_from_url("GET", f"https://h.test{path}").segments) is not None
    except EnvelopeError:
        return "request refused"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['pattern']} {row['path']}")
def test_published_vectors(row: dict[str, object]) -> None:
    assert matched(str(row["pattern"]), str(row["path"])) == row.get("ours", row["expect"])
    assert row.get("why") or not row.get("hole")


@pytest.mark.parametrize(
    ("pattern", "path", "bound"),
    [
        ("/a/{x}", "/a/b", {"x": "b"}),
        ("/a/{x}", "/a/", None),
        ("/a/{x}", "/a/b/c", None),
        ("/a/{x}", "/a/%62%20c", {"x": "b c"}),
        ("/a/{x}", "/a/b%2fc", {"x": "b%2Fc"}),
        ("/{repo}.git/info", "/web.git/info", {"repo": "web"}),
        ("/{repo}.git/info", "/.git/info", None),
        ("/v1/{name}:access", "/v1/key:access", {"name": "key"}),
        ("/bot{token}/send", "/bot12:ab/send", {"token": "12:ab"}),
        ("/aa{x}a", "/aaa", None),
        ("/a*", "/a", {}),
        ("/a*", "/abc/d", {}),
        ("/a/*", "/a", None),
        ("/a/*", "/a/", {}),
        ("/s/a*", "/s", None),
        ("/{x}/a*", "/b/ab/c", {"x": "b"}),
        ("/a/*/c", "/a/b/b/c", {}),
        ("/a/*/c", "/a//c", {}),
        ("/a/*/c", "/a/c", None),
        ("/*a/b*", "/xa/bx", {}),
        ("/", "/", {}),
        ("/", "", {}),
        ("/a%2Fb", "/a%2fb", {}),
        ("/a%2Fb", "/a/b", None),
        ("/a/", "/a/", {}),
        ("/a/", "/a", None),
    ],
)
def test_what_it_binds(pattern: str, path: str, bound: dict[str, str] | None) -> None:
    assert PathPattern.parse(pattern).match(facts_from_url("GET", f"https://h.test{path}").segments) == bound


@pytest.mark.parametrize(
    ("pattern", "path", "bound"),
    [
        ("/Repos/{x}", "/repos/Acme", {"x": "Acme"}),
        ("/ss{x}", "/ßaacme", {"x": "aacme"}),
        ("/{x}ss", "/aß", {"x": "a"}),
        ("/K*", "/\u212a2", {}),  # the Kelvin sign folds to k
    ],
)
def test_letters_folded(pattern: str, path: str, bound: dict[str, str] | None) -> None:
    assert PathPattern.parse(pattern, True).match(tuple(path[1:].split("/"))) == bound


@pytest.mark.parametrize(
    ("pattern", "fix"),
    [
        ("", "whole path"),
        ("a/b", "whole path"),
        ("/a?b", "query"),
        ("/a#b", "query"),
        ("/a/%62", "decoded"),
        ("/a/../b", "plain path"),
        ("/a/./b", "plain path"),
        ("/a/**", "crosses"),
        ("/{x}/{x}", "own name"),
        ("/{x}{y}", "bind one"),
        ("/{x}*", "between"),
        ("/{x}/*/b", "each segment"),
        ("/a{", "parameter"),
        ("/{1}", "parameter"),
        ("/a\\b", "decoded"),
        ("/a\tb", "decoded"),
    ],
)
def test_refused_at_load_with_the_fix(pattern: str, fix: str) -> None:
    with pytest.raises(PatternError) as refused:
        PathPattern.parse(pattern)
    assert fix in refused.value.fix


PATTERNS = [
    "/", "/a", "/b", "/A", "/a/", "/a/b", "/{x}", "/{x}/", "/a{x}", "/{x}b", "/a{x}b", "/{x}/b", "/a/{x}", "/*", "/a*", "/a/*", "/{x}/*",
    "/{x}/b*", "/*b", "/*/b", "/a*b", "/a/*/b", "/*a*", "/*/a/*", "/ab*", "/aa/*",
]  # fmt: skip
WORDS = sorted(
    {"/" + "".join(w) for n in range(7) for w in itertools.product("ab/", repeat=n)}
    | {"/" + "".join(w) for n in range(5) for w in itertools.product("abABx/", repeat=n)}
)
SEGMENTS = {word: tuple(word[1:].split("/")) for word in WORDS}
PARSED = [PathPattern.parse(text, fold) for text in PATTERNS for fold in (False, True)]
TAKEN = {p: frozenset(w for w in WORDS if p.match(SEGMENTS[w]) is not None) for p in PARSED}


def test_inclusion_and_intersection_against_every_short_path() -> None:
    for one, two in itertools.product(PARSED, repeat=2):
        assert one.included(two) is (TAKEN[one] <= TAKEN[two]), (one.text, one.fold, two.text, two.fold)
        assert one.intersects(two) is bool(TAKEN[one] & TAKEN[two]), (one.text, one.fold, two.text, two.fold)


def test_a_contained_pattern_is_never_less_specific() -> None:
    for one, two in itertools.product(PARSED[::2], repeat=2):
        if one.glob is None and two.glob is None and TAKEN[one] < TAKEN[two]:
            assert one.rank() <= two.rank(), (one.text, two.text)


PARTS = st.sampled_from(["", "a", "b", "A", "ab", "{x}", "a{x}", "{x}b", "ab{x}", "{x}ab", "A{x}b"])
ENDS = st.sampled_from(["", "*", "a*", "A*", "ab*"])


@st.composite
def patterns(draw: st.DrawFn) -> PathPattern:
    """A segmented pattern, letters folded or not; each `{name}` has its own name."""
    parts = [part.replace("{x}", f"{{x{at}}}") for at, part in enumerate(draw(st.lists(PARTS, max_size=4)))]
    end = draw(ENDS)
    return PathPattern.parse("/" + "/".join([*parts, end] if end or not parts else parts), draw(st.booleans()))


@settings(max_examples=400, deadline=None)
@given(patterns(), patterns())
def test_intersection_by_segments_is_that_by_characters(one: PathPattern, two: PathPattern) -> None:
    assert one.intersects(two) is two.intersects(one) is language.intersects(one.program(), two.program())
