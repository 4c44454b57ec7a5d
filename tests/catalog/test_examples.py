"""The admits/denies tables of the packs, asked of the whole catalogue; what each effect must show in its own."""

from __future__ import annotations

import functools

import pytest

from catalog.shipped import effects, library
from effectgate.policy.example import Examiner, Example
from effectgate.policy.pack import Pack

PACKS = library().packs


@functools.cache
def examiner() -> Examiner:
    return Examiner(library().catalog)


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.name)
def test_the_catalogue_answers_as_the_rows_say(pack: Pack) -> None:
    wrong = [row for row in pack.examples if not examiner().ask(row).fits(row)]
    assert [_told(pack, row) for row in wrong] == []


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.name)
def test_a_denial_names_first_what_the_row_names(pack: Pack) -> None:
    wrong = [row for row in pack.examples if not row.allow and row.effect and _first_missing(row) != row.effect]
    assert [_told(pack, row) for row in wrong] == []


def _first_missing(row: Example) -> str | None:
    """The first effect of the refusal that the grant lacks: one that is held and blocked comes before it."""
    return next((effect for effect in examiner().ask(row).effects if effect not in row.grant), None)


def _told(pack: Pack, row: Example) -> str:
    answer = examiner().ask(row)
    said = "allow" if answer.allowed else "deny"
    return f"{pack.document.file}:{pack.document.line_of(row.path)} {row.request}: {said} {', '.join(answer.effects)}"


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.name)
def test_each_effect_shows_one_admission_and_one_denial(pack: Pack) -> None:
    admitted = {row.effect for row in pack.examples if row.allow and row.grant == (row.effect,)}
    denied = {row.effect for row in pack.examples if not row.allow and row.effect not in row.grant}
    assert [effect.id for effect in pack.effects if effect.id not in admitted & denied] == []


def test_every_effect_belongs_to_a_pack_with_rows() -> None:
    assert sum(len(pack.effects) for pack in PACKS) == len(effects())
