"""`effectgate packs diff OLD NEW`: what an edit of packs changes, effect by effect, and for which requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli.output import NO, CommandError, JsonOption, print_json, printable

if TYPE_CHECKING:
    from effectgate.pack_sources import Sources
    from effectgate.policy.catalog import Catalog
    from effectgate.policy.verdict_diff import Difference

# Requests that people are told of each effect; `--json` has all.
SHOWN = 5

OldArgument = Annotated[Path, typer.Argument(metavar="OLD", help="A directory of packs, or one pack file.")]
NewArgument = Annotated[Path, typer.Argument(metavar="NEW", help="The same, as it would be.")]


def diff(old: OldArgument, new: NewArgument, as_json: JsonOption = False) -> int:
    """Print which effects differ and which requests change verdict; exit 1 if any do."""
    from effectgate.policy.verdict_diff import differences

    before, after = _catalog(old), _catalog(new)
    found = differences(before, after)
    if as_json:
        print_json({"old": before.digest, "new": after.digest, "changes": list(map(_json, found))})
    else:
        for difference in found:
            _show(difference)
        print(f"{len(found)} effects differ, {sum(len(one.consequences) for one in found)} requests of them")
    return NO if found else 0


def _catalog(place: Path) -> Catalog:
    """The packs at a place, each site where examples ask for it. Raises FaultsError."""
    from effectgate.packs_io import load
    from effectgate.policy.catalog import Catalog
    from effectgate.policy.pack import at_example_sites

    packs = [at_example_sites(pack) for pack in load(_sources(place)).packs]
    return Catalog.build([effect for pack in packs for effect in pack.effects])


def _sources(place: Path) -> Sources:
    from effectgate.pack_sources import Sources, read_file, read_sources
    from effectgate.policy.fault import Fault, FaultsError

    if place.is_dir():
        return Sources(read_sources([place]).packs, ())
    if not place.exists():
        raise CommandError(f"there is no {place}", "name a directory of packs, or one pack file")
    faults: list[Fault] = []
    source = read_file(place, True, faults)
    if source is None:
        raise FaultsError(faults)
    return Sources((source,), ())


def _show(difference: Difference) -> None:
    change = difference.change
    print(printable(f"{change.kind} {change.effect} ({change.title})"))
    for note in change.notes:
        print(printable(f"  {note}"))
    for consequence in difference.consequences[:SHOWN]:
        print(printable(f"  {consequence}"))
    if (more := len(difference.consequences) - SHOWN) > 0:
        print(f"  and {more} more requests (--json lists them)")


def _json(difference: Difference) -> dict[str, object]:
    change = difference.change
    return {
        "effect": change.effect,
        "title": change.title,
        "kind": change.kind,
        "notes": list(change.notes),
        "requests": [{"request": one.request, "changes": list(one.sentences)} for one in difference.consequences],
    }
