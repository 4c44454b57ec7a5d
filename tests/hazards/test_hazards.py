"""Every hazard names tests that exist and a mitigation that stands where it says. `mutate.py` shows that the tests notice its absence."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from hazards.mutate import PAGE, ROOT, Hazard, hazards, outcomes, page, place

HAZARDS = {str(hazard["id"]): hazard for hazard in hazards()}
EVERY = pytest.mark.parametrize("hazard", HAZARDS.values(), ids=HAZARDS)


@functools.cache
def functions(file: Path) -> set[str]:
    """The tests of a file."""
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}


def named(hazard: Hazard) -> Iterator[str]:
    yield from hazard["tests"]
    for removal in hazard.get("removals", ()):
        yield from removal["fails"]


def test_no_hazard_is_told_twice() -> None:
    assert len(HAZARDS) == len(hazards()) > 50


@EVERY
def test_the_tests_exist(hazard: Hazard) -> None:
    for name in named(hazard):
        file, _, function = name.partition("::")
        assert not function or function.partition("[")[0] in functions(ROOT / file), name


@EVERY
def test_the_mitigation_stands_where_the_removal_looks_for_it(hazard: Hazard) -> None:
    assert bool(hazard.get("removals")) != bool(hazard.get("unheld"))
    for removal in hazard.get("removals", ()):
        for patch in removal["patches"]:
            ast.parse(place(ROOT, patch).read_text().replace(patch["old"], patch["new"]))


@EVERY
def test_every_removal_was_tried_and_noticed(hazard: Hazard) -> None:
    seen = {one["what"]: one["noticed"] for one in outcomes().get(hazard["id"], [])}
    assert set(seen) == {removal["what"] for removal in hazard.get("removals", ())}, (
        "run tests/hazards/mutate.py for this row"
    )
    assert all(seen.values())


def test_the_page_tells_what_is_on_record() -> None:
    assert PAGE.read_text() == page()
