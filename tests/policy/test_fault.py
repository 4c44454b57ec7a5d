"""Faults as people read them."""

from __future__ import annotations

import pytest

from effectgate.policy.fault import Fault, FaultsError, PatternError

SPELT = [
    (Fault("a.toml", 3, "effect[0].id", "bad", "good"), "a.toml:3: effect[0].id: bad; fix: good"),
    (Fault("a.toml", 0, "", "bad", "good"), "a.toml: bad; fix: good"),
    (Fault("a.toml", 3, "effect[0]", "bad", "good", "overlap"), "a.toml:3: effect[0]: [overlap] bad; fix: good"),
]


@pytest.mark.parametrize(("fault", "text"), SPELT)
def test_spelling(fault: Fault, text: str) -> None:
    assert str(fault) == text


def test_faults_come_in_order_of_file_and_line() -> None:
    rows = [Fault("b", 1, "", "", ""), Fault("a", 10, "", "", ""), Fault("a", 9, "z", "", "")]
    error = FaultsError(rows)
    assert [(fault.file, fault.line) for fault in error.faults] == [("a", 9), ("a", 10), ("b", 1)]
    assert str(error).count("\n") == 2


def test_a_pattern_error_has_its_remedy() -> None:
    error = PatternError("wrong", "right")
    assert (error.message, error.fix, str(error)) == ("wrong", "right", "wrong")
