"""What real clients send, step by step, and the effects that carry each of their runs: nothing less is enough."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from catalog.shipped import DATA, Ask, first_named

ROWS: list[dict[str, Any]] = [json.loads(line) for line in (DATA / "packs" / "clients.jsonl").read_text().splitlines()]
RUNS = {run: list(steps) for run, steps in itertools.groupby(ROWS, lambda row: str(row["run"]))}


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_admitted_by_its_effects_and_by_nothing_less(run: str) -> None:
    needed = {step["effect"] for step in RUNS[run]}
    for step in RUNS[run]:
        ask = Ask(step["request"], step.get("headers", {}), step.get("body", ""))
        assert ask.under(needed).effect == step["effect"], ask.request
        without = ask.under(["fs/read-workspace", *(needed - {step["effect"]})])
        assert (without.allowed, first_named(without)) == (False, step["effect"]), ask.request
