"""The faults that only show between packs (design.md section 2, "Faults")."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from effectgate.policy.fault import Fault
from effectgate.policy.pack import Pack

Exemption = tuple[str, str]


def check(packs: Sequence[Pack], exceptions: Collection[Exemption] = ()) -> list[Fault]:
    """Every fault between these packs."""
    return list(_names(packs))


def _names(packs: Sequence[Pack]) -> Iterator[Fault]:
    first: dict[str, Pack] = {}
    for pack in packs:
        before = first.setdefault(pack.name, pack)
        if before is not pack:
            message = f"the pack {pack.name} is already in {before.document.file}, and so are its ids"
            yield pack.document.fault(
                ("plugin", "name"), message, "keep one of the files, or rename the pack and its file"
            )
