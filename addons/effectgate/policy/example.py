"""Rows of a pack's admits/denies table (design.md section 2, `[[example]]`)."""

from __future__ import annotations

from dataclasses import dataclass

from effectgate.policy.document import KeyPath


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One row. `effect` None leaves open which effect answers; the empty text says that none does."""

    grant: tuple[str, ...]
    request: str
    allow: bool
    effect: str | None
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    path: KeyPath
