"""The packs of `docs/examples`, which people copy: no faults, no hazards, and every row of theirs is true."""

from __future__ import annotations

import pytest

from catalog.shipped import ROOT
from effectgate.packs_io import Library, load_directories
from effectgate.policy.example import Examiner
from effectgate.policy.lint import lint
from effectgate.policy.site import Sites


@pytest.fixture(scope="module")
def examples() -> Library:
    return load_directories([ROOT / "docs" / "examples"], sites=Sites.parse({"mcp": ["mcp.example"]}))


def test_an_example_pack_has_no_hazards(examples: Library) -> None:
    assert lint(examples.packs, examples.catalog) == []


def test_the_rows_of_an_example_pack_are_true(examples: Library) -> None:
    examiner = Examiner(examples.catalog)
    rows = [row for pack in examples.packs for row in pack.examples]
    assert [row.request for row in rows if not examiner.ask(row).fits(row)] == []
