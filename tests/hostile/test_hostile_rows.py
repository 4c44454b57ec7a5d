"""Every row over every transport where it applies: nothing arrives, something is answered, and the next good request is served."""

from __future__ import annotations

import pytest

from hostile.performance import Performance
from hostile.rows import Case, cases, load

HOSTILE, CONTROLS = 250, 60
ROWS = load()
pytestmark = pytest.mark.timeout(600)  # the first test waits for all to be played
CASES = cases(ROWS)


@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_row(performance: Performance, case: Case) -> None:
    assert performance.outcomes[str(case)].faults == []


def test_there_are_rows_enough() -> None:
    """Issue 3: hostile rows, and controls as many as a quarter of them."""
    controls = sum(row.control for row in ROWS)
    assert len(ROWS) - controls >= HOSTILE
    assert controls >= CONTROLS


def test_every_refusal_has_the_receipt_that_it_names(performance: Performance) -> None:
    stored = {receipt["receipt_id"]: receipt for receipt in performance.scene.gate.receipts()}
    for case, outcome in performance.outcomes.items():
        for told in outcome.told:
            if told.receipt:
                receipt = stored.get(told.receipt, {})
                assert (receipt.get("verdict"), receipt.get("reason_code")) == ("DENY", told.reason), case


def test_a_refusal_that_nobody_was_told_has_its_receipt_too(performance: Performance) -> None:
    """A connection closed without an answer leaves one; nothing else does."""
    told = [told for outcome in performance.outcomes.values() for told in outcome.told]
    named = {one.receipt for one in told}
    denied = [one for one in performance.scene.gate.receipts() if one["verdict"] == "DENY"]
    refusals = [one for one in denied if one["args"]["principal"] in performance.scene.agents]  # the canary is none
    untold = [one for one in refusals if one["receipt_id"] not in named]
    assert len(untold) == sum(one.left == "silent" for one in told), untold[:3]


def test_a_refusal_without_a_principal_is_counted(performance: Performance) -> None:
    expected = sum(told.left == "count" for outcome in performance.outcomes.values() for told in outcome.told)
    assert performance.counted == expected
