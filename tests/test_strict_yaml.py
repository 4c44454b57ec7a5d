"""YAML that a person wrote: what is read, and every fault with its line."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from effectgate.policy.fault import FaultsError
from effectgate.strict_yaml import read_yaml

GOOD = [
    ("", {}),
    ("# nothing\n", {}),
    ("a: 1\nb: [x, {c: true}]\n", {"a": 1, "b": ["x", {"c": True}]}),
    ("t: 2027-01-31T00:00:00Z\n", {"t": datetime(2027, 1, 31, tzinfo=UTC)}),
    ("d: 2027-01-31\n", {"d": date(2027, 1, 31)}),
    ('"1": x\n', {"1": "x"}),
    ("- a\n- b\n", ["a", "b"]),
]


@pytest.mark.parametrize(("text", "value"), GOOD)
def test_plain_data_is_read(text: str, value: object) -> None:
    assert read_yaml(text, "f.yaml").value == value


# text, and for each fault: line, key, words of the message
BAD = [
    ("a: 1\na: 2\n", [(2, "a", "already given on line 1")]),
    ("a: {b: 1, b: 2}\nc:\n  d: 1\n  d: 2\n", [(1, "a.b", "already given"), (4, "c.d", "already given on line 3")]),
    ("- x: 1\n- y: 1\n  y: 2\n", [(3, "[1].y", "already given on line 2")]),
    ("a: &one [1]\nb: *one\n", [(1, "a", "alias")]),
    ("a: &a {b: *a}\n", [(1, "a.b", "alias")]),
    ("base: &b {x: 1}\nd:\n  <<: *b\n", [(3, "d", "not read as text")]),
    ("1: x\nyes: y\n", [(1, "", "1 is not read as text"), (2, "", "yes is not read as text")]),
    ("? [a]\n: b\n", [(1, "", "not read as text")]),
    ("a: [1\nb: 2\n", [(2, "", "not valid YAML")]),
    ("a: !!python/object:os.system {}\n", [(1, "", "not valid YAML")]),
    ("a: 1\n---\nb: 2\n", [(2, "", "another document")]),
    ("a: 1\nt: 2026-13-45T00:00:00Z\n", [(2, "", "month")]),
    ("a: 1:30\nb: 1:30.5\nc: '1:30'\n", [(1, "a", "base 60"), (2, "b", "base 60")]),
    ("a: \0\n", [(0, "", "not valid YAML")]),
    ("[" * 3000, [(0, "", "nested too deeply")]),
]


@pytest.mark.parametrize(("text", "expected"), BAD, ids=[repr(row[0])[:30] for row in BAD])
def test_every_fault_has_its_line(text: str, expected: list[tuple[int, str, str]]) -> None:
    with pytest.raises(FaultsError) as caught:
        read_yaml(text, "f.yaml")
    found = caught.value.faults
    assert [(fault.file, fault.line, fault.key) for fault in found] == [("f.yaml", *row[:2]) for row in expected]
    assert all(row[2] in fault.message and fault.fix for row, fault in zip(expected, found, strict=True))


LINES = [((), 2), (("a",), 2), (("a", 0), 3), (("a", 1), 4), (("a", 1, "b"), 5), (("a", 1, "none", 3), 4), (("zz",), 2)]


@pytest.mark.parametrize(("path", "line"), LINES)
def test_lines_of_keys_and_of_what_is_missing(path: tuple[str | int, ...], line: int) -> None:
    assert read_yaml("# first\na:\n  - x\n  - c: 1\n    b: 2\n", "f.yaml").line_of(path) == line
