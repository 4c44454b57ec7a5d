"""Limits hold for all processes of one store together, over restarts and crashes."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scene import KEY, draft, filled

from effectgate.receipts.store import Spend, SpentError
from effectgate.receipts.store_limits import used_so_far
from effectgate.receipts.store_sqlite import SqliteStore

SPENDER = Path(__file__).with_name("spender_process.py")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return filled(tmp_path / "var", 1).parent


def spender(state: Path, writer: str, asked: int, *, upload: int = 0, finish: str = "complete") -> int:
    """How many of so many requests at once were allowed."""
    command = [sys.executable, str(SPENDER), str(state), writer, str(asked), str(upload), finish]
    told = subprocess.run(
        command, env={"PYTHONPATH": str(ROOT / "addons")}, capture_output=True, text=True, timeout=90, check=False
    )
    assert told.returncode == (9 if finish == "die" else 0), told.stderr
    allowed, _, reasons = told.stdout.partition(" ")
    assert "PDP_ERROR" not in reasons, reasons
    return int(allowed)


def test_fifty_at_once_are_allowed_ten(state: Path) -> None:
    assert spender(state, "worker-1", 50) == 10


@pytest.mark.parametrize(
    "writers", [("worker-1", "worker-1"), ("worker-1", "worker-2")], ids=["one chain", "two chains"]
)
def test_two_processes_at_once_are_allowed_ten_together(state: Path, writers: tuple[str, str]) -> None:
    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(lambda writer: spender(state, writer, 50), writers)) == 10


def test_a_limit_stays_used_up_after_a_restart(state: Path) -> None:
    assert spender(state, "worker-1", 12) == 10
    assert spender(state, "worker-1", 5) == 0


def test_a_crash_counts_what_was_reserved(state: Path) -> None:
    assert spender(state, "worker-1", 3, upload=30, finish="die") == 3
    assert used_so_far(state)["ci", "upload_bytes"][1] == 90
    assert spender(state, "worker-1", 3, upload=30) == 0
    assert spender(state, "worker-1", 3, upload=5) == 2


def test_what_is_not_uploaded_is_given_back_to_every_process(state: Path) -> None:
    assert spender(state, "worker-1", 3, upload=30) == 3
    assert used_so_far(state)["ci", "upload_bytes"][1] == 3
    assert spender(state, "worker-2", 5, upload=30) == 3


def test_both_limits_are_booked_or_neither(state: Path) -> None:
    store = SqliteStore(state, KEY)
    fitting = (Spend("ci", "requests", 60, 1, 1), Spend("ci", "upload_bytes", 60, 9, 9))
    store.append(draft(7), fitting).result(10)
    before = used_so_far(state)
    with pytest.raises(SpentError):
        store.append(draft(8), (Spend("ci", "requests", 60, 1, 5), Spend("ci", "upload_bytes", 60, 1, 9))).result(10)
    assert used_so_far(state) == before == {("ci", "requests"): (60, 1), ("ci", "upload_bytes"): (60, 9)}
    store.close()


def test_one_refusal_in_a_group_leaves_the_others_in_their_chain(state: Path) -> None:
    store = SqliteStore(state, KEY)
    futures = [store.append(draft(n), (Spend("ci", "requests", 60, 1, 3),)) for n in range(20)]
    outcomes = [future.exception(10) for future in futures]
    assert outcomes.count(None) == 3
    assert all(isinstance(fault, SpentError) for fault in outcomes if fault is not None)
    store.append(draft(99)).result(10)
    store.close()


def test_a_clock_set_back_reopens_nothing(state: Path) -> None:
    store = SqliteStore(state, KEY)
    store.append(draft(1), (Spend("ci", "requests", 120, 5, 5),)).result(10)
    with pytest.raises(SpentError) as refused:
        store.append(draft(2), (Spend("ci", "requests", 60, 1, 5),)).result(10)
    assert refused.value.stood == {"requests": (60, 5)}
    store.append(draft(3), (Spend("ci", "requests", 60, -1),)).result(10)  # settled after its window is over
    assert used_so_far(state)["ci", "requests"] == (120, 5)
    store.append(draft(4), (Spend("ci", "requests", 180, 1, 5),)).result(10)
    assert used_so_far(state)["ci", "requests"] == (180, 1)
    store.close()
