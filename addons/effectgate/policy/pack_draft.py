"""A pack file taken apart table by table, so that a fault in one table hides none of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from effectgate.policy.document import Document, KeyPath
from effectgate.policy.fault import Fault
from effectgate.policy.pack_file import (
    EffectTable,
    ExampleTable,
    FileTable,
    LowersTable,
    MatchesTable,
    PackTable,
    ShapeTable,
)
from effectgate.policy.schema import Table, read_table

RawTable = Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class EffectDraft:
    """One effect as written. A table that cannot be read is None, and rows that cannot be read are left out."""

    path: KeyPath
    raw: RawTable
    table: EffectTable | None
    lowers: LowersTable | None
    matches: MatchesTable | None
    shapes: tuple[tuple[int, ShapeTable], ...]
    files: tuple[tuple[int, FileTable], ...]

    def shape_path(self, row: int) -> KeyPath:
        """The key path of one row of `matches.http`."""
        return (*self.path, "matches", "http", row)

    def written_in_shape(self, row: int, key: str) -> bool:
        """Whether a row of `matches.http` has a key, readable or not."""
        matches = cast(Mapping[str, list[RawTable]], self.raw["matches"])
        return key in matches["http"][row]

    def written(self, table: str, key: str) -> bool:
        """Whether a key of an inner table has anything in it, readable or not."""
        inner = self.raw.get(table)
        return bool(inner.get(key)) if isinstance(inner, dict) else False


@dataclass(frozen=True, slots=True, eq=False)
class PackDraft:
    """The whole file as written."""

    head: PackTable | None
    effects: tuple[EffectDraft, ...]
    examples: tuple[tuple[int, ExampleTable], ...]


def read_draft(document: Document) -> tuple[PackDraft, list[Fault]]:
    """Every table of the file, and every fault that shows in a table by itself."""
    raw = cast(RawTable, document.value)
    head, faults = read_table(PackTable, document, raw)
    rows = [_effect(document, ("effect", index), row, faults) for index, row in enumerate(_list(raw, "effect"))]
    examples = _rows(ExampleTable, document, ("example",), _list(raw, "example"), faults)
    return PackDraft(head, tuple(row for row in rows if row is not None), examples), faults


def _list(table: RawTable, key: str) -> list[object]:
    found = table.get(key)
    return found if isinstance(found, list) else []


def _effect(document: Document, path: KeyPath, row: object, faults: list[Fault]) -> EffectDraft | None:
    table, found = read_table(EffectTable, document, row, path)
    faults += found
    if not isinstance(row, dict):
        return None
    raw = cast(RawTable, row)
    lowers, found = read_table(LowersTable, document, raw.get("lowers", {}), (*path, "lowers"), retry=False)
    faults += found
    inner = raw.get("matches", {})
    matches, found = read_table(MatchesTable, document, inner, (*path, "matches"))
    faults += found
    rows = cast(RawTable, inner) if isinstance(inner, dict) else {}
    shapes = _rows(ShapeTable, document, (*path, "matches", "http"), _list(rows, "http"), faults)
    files = _rows(FileTable, document, (*path, "matches", "files"), _list(rows, "files"), faults)
    return EffectDraft(path, raw, table, lowers, matches, shapes, files)


def _rows[T: Table](
    model: type[T], document: Document, path: KeyPath, rows: list[object], faults: list[Fault]
) -> tuple[tuple[int, T], ...]:
    out = []
    for index, row in enumerate(rows):
        table, found = read_table(model, document, row, (*path, index))
        faults += found
        if table is not None:
            out.append((index, table))
    return tuple(out)
