"""Patterns of discriminators' values: what they match and bind, and inclusion against every short text."""

from __future__ import annotations

import itertools

import pytest

from effectgate.policy import language
from effectgate.policy.fault import PatternError
from effectgate.policy.value import ValuePattern


@pytest.mark.parametrize(
    ("pattern", "value", "fold", "bound"),
    [
        ("List", "List", False, {}),
        ("List", "list", False, None),
        ("List", "list", True, {}),
        ("List*", "ListUsers", False, {}),
        ("*", "", False, {}),
        ("a*c*e", "abcde", False, {}),
        ("a*a", "a", False, None),
        ("", "", False, {}),
        ("{x}", "", False, None),
        ("{x}", "v", False, {"x": "v"}),
        ("Bearer {t}", "Bearer abc", False, {"t": "abc"}),
        ("bearer {t}", "Bearer Abc", True, {"t": "Abc"}),
        ("ss{x}", "ßaacme", True, {"x": "aacme"}),
        ("{x}.git", "web.git", False, {"x": "web"}),
        ("{x}.git", ".git", False, None),
    ],
)
def test_what_it_binds(pattern: str, value: str, fold: bool, bound: dict[str, str] | None) -> None:
    assert ValuePattern.parse(pattern).match(value, fold) == bound


@pytest.mark.parametrize("pattern", ["{x}{y}", "{x}*", "*{x}"])
def test_refused_at_load(pattern: str) -> None:
    with pytest.raises(PatternError):
        ValuePattern.parse(pattern)


PATTERNS = [ValuePattern.parse(t) for t in ("", "a", "A", "*", "a*", "*a", "{x}", "a{x}", "{x}a", "a*a", "*a*", "aa*")]
WORDS = ["".join(w) for n in range(5) for w in itertools.product("aAb", repeat=n)]


def taken(pattern: ValuePattern, fold: bool) -> frozenset[str]:
    return frozenset(word for word in WORDS if pattern.match(word, fold) is not None)


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("whole_fold", [False, True])
def test_inclusion_against_every_short_text(fold: bool, whole_fold: bool) -> None:
    for one, two in itertools.product(PATTERNS, repeat=2):
        assert one.included([two], fold, whole_fold) is (taken(one, fold) <= taken(two, whole_fold)), (one, two)


def test_inclusion_in_several_together() -> None:
    for one, two, three in itertools.product(PATTERNS, repeat=3):
        both = taken(two, False) | taken(three, False)
        assert one.included([two, three], False, False) is (taken(one, False) <= both), (one, two, three)


@pytest.mark.parametrize("fold", [False, True])
def test_intersection_is_that_of_the_languages(fold: bool) -> None:
    texts = ["", "*", "a", "A", "b", "a*", "*a", "A*", "a*b", "*ab", "b*a*", "{x}", "a{x}", "{x}b", "B{x}a", "ab"]
    for one, two in itertools.product(map(ValuePattern.parse, texts), repeat=2):
        meets = language.intersects(one.program(fold), two.program(False))
        assert one.intersects(two, fold) is two.intersects(one, fold) is meets, (one.text, two.text)
