"""The readings of a path against a list of them, what a pattern binds over them, and their bounds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effectgate.policy import binding
from effectgate.policy.authority import EnvelopeError
from effectgate.policy.path import PathPattern
from effectgate.policy.reading import Readings
from policy import oracle

PIECES = st.sampled_from(("", "a", "b", "A", "ab", "a;v", ";v", "a;v;w", "a%2Fb", "%2F", "a%2F;v", "a;v%2Fb"))
PATHS = st.lists(PIECES, min_size=1, max_size=4).map(tuple)
PATTERNS = [
    PathPattern.parse(text, fold)
    for fold in (False, True)
    for text in (
        "/", "/a", "/A", "/a/", "/a/b", "/a;v", "/a;w", "/{x}", "/{x}/{y}", "/{x}b", "/a{x}", "/*", "/a*", "/a/*", "/{x}/b*", "/*/b", "/*b",
        "/a*b", "/*a/b*", "/a%2Fb", "/{x}/{y}/*",
    )
]  # fmt: skip


def found(pattern: PathPattern, reading: tuple[str, ...], fold: bool) -> dict[str, str] | None:
    return oracle.text_match(pattern.text, reading, fold or pattern.fold)


@settings(max_examples=400, deadline=None)
@given(PATHS, st.sampled_from(PATTERNS))
def test_matching_against_every_reading(segments: tuple[str, ...], pattern: PathPattern) -> None:
    listed = oracle.readings(segments)
    readings = Readings.of(segments)
    assert readings.matches(pattern) is any(found(pattern, r, True) is not None for r in listed)
    assert not (readings.rule_out(pattern) and readings.matches(pattern))


@settings(max_examples=400, deadline=None)
@given(PATHS, st.sampled_from(PATTERNS), st.lists(st.sampled_from(PATTERNS), max_size=3))
def test_escaping_against_every_reading(
    segments: tuple[str, ...], outer: PathPattern, inner: list[PathPattern]
) -> None:
    expected = any(
        found(outer, r, True) is not None and all(found(p, r, False) is None for p in inner)
        for r in oracle.readings(segments)
    )
    assert Readings.of(segments).escapes(outer, inner) is expected


@pytest.mark.parametrize(
    ("path", "outer", "inner", "escapes"),
    [
        ("/A/", "/{x}", ["/A"], False),
        ("/A/", "/{x}", ["/a"], True),
        ("/a/", "/A", ["/{x}"], False),
        ("/a/", "/{x}", ["/a/"], True),
        ("/a/", "/*", ["/a/*"], True),
        ("/a/", "/*", ["/a/*", "/a"], False),
        ("/a;v/b", "/{x}/b", ["/{y}/b"], False),
        ("/a;v/b", "/{x}/b", ["/a/b"], True),
        ("/a;v/b", "/a/b", ["/a/b"], False),
        ("/a%2Fb", "/{x}", ["/a/b"], True),
        ("/a%2Fb", "/a/b", ["/a/b"], False),
        ("/A//B", "/*/b", ["/A/B", "/A//B"], False),
        ("/A//B", "/*/b", ["/A/B"], True),
    ],
)
def test_escaping(path: str, outer: str, inner: list[str], escapes: bool) -> None:
    readings = Readings.of(tuple(path[1:].split("/")))
    assert readings.escapes(PathPattern.parse(outer), [PathPattern.parse(text) for text in inner]) is escapes


@settings(max_examples=400, deadline=None)
@given(PATHS, st.sampled_from([p for p in PATTERNS if p.glob is None]))
def test_bindings_against_every_reading(segments: tuple[str, ...], pattern: PathPattern) -> None:
    expected = [b for r in oracle.readings(segments) if (b := found(pattern, r, True)) is not None]
    readings = Readings.of(segments)
    combined = binding.combinations(readings, pattern)
    assert combined is not None
    assert {tuple(sorted(b)) for b in combined} == {tuple(sorted(b.items())) for b in expected}
    values = binding.values(readings, pattern)
    assert {n: v for n, v in values.items() if v} == {
        n: {b[n] for b in expected} for n in pattern.parameters if expected
    }


@pytest.mark.parametrize(
    "path",
    ["/" * 65, "/a;b" * 600, "a" + ";x" * 11, "a" + "%2Fa" * 45, "%2F".join(["a;b"] * 12)],
)
def test_a_path_with_too_many_readings_has_no_facts(path: str) -> None:
    with pytest.raises(EnvelopeError):
        Readings.of(tuple(path.split("/")))


@pytest.mark.parametrize("path", ["/" * 63, "a" + ";x" * 9, "a" + "%2Fa" * 32, "a;x/" * 60])
def test_a_path_within_the_bounds_is_matched(path: str) -> None:
    assert Readings.of(tuple(path.split("/"))).matches(PathPattern.parse("/*"))


def test_a_heavy_path_counts_against_a_glob() -> None:
    readings = Readings.of(("a", "", *["x" * 50] * 60, "b"))
    blocker, excuse = PathPattern.parse("/a/*b"), PathPattern.parse("/a/*/b")
    assert readings.heavy
    assert readings.escapes(blocker, [excuse])
    assert readings.rule_out(PathPattern.parse("/a/*c"))


def test_the_worst_path_is_matched_in_milliseconds() -> None:
    readings = Readings.of(tuple(f"{'a//b;x/c%2Fd' * 9}{'/e' * 3000}".split("/")))
    patterns = [PathPattern.parse(f"/a/*/c*{n}/e*") for n in range(20)] + [PathPattern.parse("/{x}/{y}/{z}/*")] * 20
    begin = time.perf_counter()
    for pattern in patterns:
        readings.matches(pattern)
    assert (time.perf_counter() - begin) / len(patterns) < 0.01
