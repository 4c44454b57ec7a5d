"""A little of the live fuzzer in every run: it works, and its cases are the same for the same seed."""

from __future__ import annotations

from pathlib import Path

from fuzz.cases import case
from fuzz.live import HOSTILE, bench, faults, fuzz

SEED, CASES = 3, 150


def test_a_seed_and_a_number_are_one_case() -> None:
    once, again = ([case(SEED, number, "Basic x", HOSTILE) for number in range(CASES)] for _ in range(2))
    assert once == again
    assert len({one.data for one in once}) > CASES * 3 // 4


def test_nothing_but_what_is_granted_arrives(tmp_path: Path) -> None:
    with bench(tmp_path) as on:
        fuzz(on, SEED, iter(range(CASES)), 60.0)
        assert faults(on) == []
        statuses = {label.split()[1] for label in on.tally.statuses}
        assert {"200", "400", "403", "407"} <= statuses
        assert on.pair.requests()
