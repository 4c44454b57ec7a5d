"""One segment of a path pattern."""

from __future__ import annotations

import pytest

from effectgate.policy.fault import PatternError
from effectgate.policy.segment import Segment


@pytest.mark.parametrize(
    ("part", "text", "fold", "value"),
    [
        ("a", "a", False, ""),
        ("a", "A", False, None),
        ("a", "A", True, ""),
        ("", "", False, ""),
        ("", "a", False, None),
        ("{x}", "a", False, "a"),
        ("{x}", "", False, None),
        ("{x}.git", "web.git", False, "web"),
        ("{x}.git", ".git", False, None),
        ("bot{x}", "bot1", False, "1"),
        ("Bot{x}:Y", "bOTAb:y", True, "Ab"),
        ("a{x}a", "aa", False, None),
        ("ss{x}", "ßx", True, "x"),
    ],
)
def test_what_it_takes(part: str, text: str, fold: bool, value: str | None) -> None:
    assert Segment.parse("/" + part, part).value(text, fold) == value


@pytest.mark.parametrize(
    ("part", "whole", "fold", "within"),
    [
        ("a", "a", False, True),
        ("a", "A", True, True),
        ("a", "{x}", False, True),
        ("", "{x}", False, False),
        ("{x}", "a", False, False),
        ("ab{x}c", "a{y}", False, True),
        ("a{x}", "ab{y}", False, False),
        ("aaa", "aa{y}a", False, False),
        ("aaba", "aa{y}a", False, True),
        ("AB{x}", "ab{y}", True, True),
    ],
)
def test_inclusion(part: str, whole: str, fold: bool, within: bool) -> None:
    assert Segment.parse(part, part).included(Segment.parse(whole, whole), fold) is within


@pytest.mark.parametrize("part", ["{x}{y}", "a{", "}", "{}", "{1x}", "{x y}"])
def test_refused_at_load(part: str) -> None:
    with pytest.raises(PatternError) as refused:
        Segment.parse("/" + part, part)
    assert refused.value.fix
