"""`effectgate grant replay`: what another grant, or other packs, would have answered to the requests that receipts keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli.basis import recorded_requests
from effectgate.cli.catalogue import Catalogue, PacksOption, SiteOption, open_catalogue, read_ids
from effectgate.cli.output import NO, CommandError, ConfigOption, JsonOption, print_json, printable

if TYPE_CHECKING:
    from effectgate.policy.grant import Grant
    from effectgate.policy.traffic import Recorded, Replayed


def register(grant: typer.Typer) -> None:
    """Add the command of this module below `grant`."""
    grant.command("replay")(replay)


def replay(
    grants: Annotated[
        Path | None, typer.Option("--grants", metavar="FILE", help="A proposed grants.yaml in place of the configured.")
    ] = None,
    effects: Annotated[
        str | None, typer.Option("--effects", metavar="A,B|@FILE", help="With these effects, no ceiling or limit.")
    ] = None,
    agent: Annotated[str, typer.Option("--agent", metavar="NAME", help="Only what this agent asked.")] = "",
    store: Annotated[Path | None, typer.Option("--store", metavar="FILE", help="The receipts, if elsewhere.")] = None,
    packs: PacksOption = None,
    site: SiteOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Ask recorded requests again, each under its agent's grant. Exit 1 where an answer would change; nothing is sent."""
    catalogue = open_catalogue(config, packs, site)
    recorded, _ = recorded_requests(catalogue, store, agent)
    if not recorded:
        raise CommandError(
            f"no receipt tells of a request of {agent or 'any agent'}", "name others with --store", code=NO
        )
    replayed = _replayed(catalogue, recorded, _granted(catalogue, grants, effects))
    changed = [one for one in replayed if one.changed]
    if as_json:
        print_json({**_counts(replayed), "requests": list(map(_json, replayed))})
    else:
        _print(replayed)
    return NO if changed else 0


def _granted(catalogue: Catalogue, file: Path | None, effects: str | None) -> Mapping[str, Grant] | Grant:
    if effects is None:
        return catalogue.grants(file)
    if file is not None:
        raise CommandError("--grants and --effects exclude each other", "leave one out")
    return catalogue.grant_of_ids(read_ids(effects))


def _replayed(
    catalogue: Catalogue, recorded: Iterable[Recorded], granted: Mapping[str, Grant] | Grant
) -> list[Replayed]:
    """Each under the grant of its agent; one that has none any more is refused."""
    from effectgate.policy.grant import Grant, sealed_grant
    from effectgate.policy.traffic import replay

    now, catalog = datetime.now(UTC), catalogue.policy.catalog
    ports = frozenset(catalogue.settings.written.network.ports)
    nothing = sealed_grant(Grant("nobody", {}), catalog)
    return [
        replay(catalog, granted if isinstance(granted, Grant) else granted.get(one.principal, nothing), one, now, ports)
        for one in recorded
    ]


def _counts(replayed: Iterable[Replayed]) -> dict[str, int]:
    counts = Counter("untold" if one.now is None else "changed" if one.changed else "same" for one in replayed)
    return {kind: counts[kind] for kind in ("same", "changed", "untold")}


def _json(one: Replayed) -> dict[str, object]:
    return {
        "agent": one.recorded.principal,
        "request": one.recorded.shown,
        "was": str(one.recorded.verdict),
        "was_effect": one.recorded.effect or None,
        "now": None if one.now is None else str(one.now),
        "effect": one.effect or None,
        "reason": one.reason,
    }


def _print(replayed: Iterable[Replayed]) -> None:
    rows = Counter(
        (one.recorded.shown, str(one.recorded.verdict), str(one.now or "untold"), one.reason)
        for one in replayed
        if one.changed or one.now is None
    )
    for (shown, was, now, reason), count in rows.items():
        print(f"{was} -> {now}  {count:>5}  {printable(shown)}: {printable(reason)}")
    print(", ".join(f"{count} {kind}" for kind, count in _counts(replayed).items()))
