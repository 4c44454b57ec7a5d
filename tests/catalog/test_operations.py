"""The catalogue held against the operations that vendors publish: no grant of reads admits one that changes something."""

from __future__ import annotations

import csv
import functools
import json
from collections import Counter
from dataclasses import dataclass

import pytest

from catalog.shipped import DATA, Ask, plain_reads
from effectgate.policy.verdict import Verdict

# Vendor -> the least share, in percent, of its operations that some effect names, and of its reads that plain reads admit.
# What is missing is listed as left out in the pack's header; the numbers may only rise.
COVERED = {
    "aws": (98, 95),
    "dockerhub": (85, 25),
    "github": (65, 55),
    "kubernetes": (95, 90),
    "openai": (100, 100),
    "slack": (100, 50),
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of a vendor's file, and the verdict on it under a grant of all plain reads."""

    name: str
    access: str
    verdict: Verdict


@functools.cache
def operations(vendor: str) -> tuple[Operation, ...]:
    granted = plain_reads()
    with (DATA / "operations" / f"{vendor}.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return tuple(Operation(row["operation"], row["access"], _ask(row).under(granted)) for row in rows)


def _ask(row: dict[str, str]) -> Ask:
    headers = json.loads(row["headers"]) if row["headers"] else {}
    return Ask(f"{row['method']} {row['url']}", headers, row["body"] or "")


@pytest.mark.parametrize("vendor", COVERED)
def test_reads_admit_nothing_that_changes_something(vendor: str) -> None:
    assert [op.name for op in operations(vendor) if op.access == "mutate" and op.verdict.allowed] == []


@pytest.mark.parametrize("vendor", COVERED)
def test_enough_of_it_has_a_name(vendor: str) -> None:
    named, admitted = COVERED[vendor]
    counts = Counter(bool(op.verdict.recognised) for op in operations(vendor))
    reads = Counter(op.verdict.allowed for op in operations(vendor) if op.access == "read")
    assert 100 * counts[True] >= named * counts.total()
    assert 100 * reads[True] >= admitted * reads.total()
