"""What patterns bind over the readings of a path: by hand here, against every reading in test_reading.py."""

from __future__ import annotations

import pytest

from effectgate.policy import binding
from effectgate.policy.path import PathPattern
from effectgate.policy.reading import Readings


@pytest.mark.parametrize(
    ("pattern", "path", "values"),
    [
        ("/r/{x}", "/r/a", {"x": {"a"}}),
        ("/r/{x}", "/R/A", {"x": {"A"}}),
        ("/r/{x}", "/r//a", {"x": {"a"}}),
        ("/r/{x}", "/r/a;v;w", {"x": {"a", "a;v", "a;w", "a;v;w"}}),
        ("/r/{x}/*", "/r/a%2Fb/c", {"x": {"a", "a%2Fb"}}),
        ("/r/{x}", "/r/a%2Fb", {"x": {"a%2Fb"}}),
        ("/{x}.git/{y}", "/w.git;v/b", {"x": {"w"}, "y": {"b"}}),
        ("/r/{x}", "/r/a/b", {}),
    ],
)
def test_values(pattern: str, path: str, values: dict[str, set[str]]) -> None:
    found = binding.values(Readings.of(tuple(path[1:].split("/"))), PathPattern.parse(pattern))
    assert {name: texts for name, texts in found.items() if texts} == values


def test_too_many_combinations_are_none_and_the_values_still_there() -> None:
    readings = Readings.of(("a;1;2;3;4", "b;1;2;3", "c"))
    pattern = PathPattern.parse("/{x}/{y}/{z}")
    assert binding.combinations(readings, pattern) is None
    assert {name: len(texts) for name, texts in binding.values(readings, pattern).items()} == {"x": 16, "y": 8, "z": 1}
