"""What a ceiling file may contain (design.md section 2, "Lowering and ceilings")."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from effectgate.policy.document import Document
from effectgate.policy.fault import Fault, PatternError
from effectgate.policy.lattice import Ceiling, Profile, is_id_pattern
from effectgate.policy.schema import Table, read_table
from effectgate.policy.words import LevelWord, Name, Operation, RiskWord, Sink, Title


def _id_pattern(text: str) -> str:
    if not is_id_pattern(text):
        raise PatternError(
            f"{text!r} is not a pattern of effect ids", "write PACK/EFFECT, with `*` for any run in a half"
        )
    return text


IdPattern = Annotated[str, AfterValidator(_id_pattern)]


class CeilingTable(Table):
    """The file. `packs` left out means the packs that the operator trusts."""

    title: Title
    max_risk: RiskWord
    operations: dict[Operation, LevelWord]
    packs: list[Name] | None = None
    effects: list[IdPattern] | None = None
    not_effects: list[IdPattern] = Field(default_factory=list)
    sinks: list[Sink] | None = None


def read_ceiling(document: Document, name: str, trusted: frozenset[str]) -> tuple[Ceiling | None, list[Fault]]:
    """The ceiling that the file `name`.toml holds, or its faults. `trusted` are the packs of one without `packs`."""
    table, faults = read_table(CeilingTable, document, document.value)
    if faults or table is None:
        return None, faults
    ceiling = Ceiling(
        name=name,
        title=table.title,
        max_risk=table.max_risk,
        profile=Profile.of(table.operations),
        packs=trusted if table.packs is None else frozenset(table.packs),
        effects=None if table.effects is None else tuple(table.effects),
        not_effects=tuple(table.not_effects),
        sinks=None if table.sinks is None else frozenset(table.sinks),
    )
    return ceiling, []
