"""`effectgate grant show|check|propose|replay`: what an agent can do, what it cannot and why, and its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli import grant_propose, grant_replay
from effectgate.cli.catalogue import PacksOption, SiteOption, open_catalogue
from effectgate.cli.output import USAGE, ConfigOption, JsonOption, fault_json, print_json, printable

if TYPE_CHECKING:
    from effectgate.policy.catalog import Catalog
    from effectgate.policy.grant import Grant


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    grant = typer.Typer(help="What agents hold.", no_args_is_help=True)
    grant.command("show")(show)
    grant.command("check")(check)
    grant_propose.register(grant)
    grant_replay.register(grant)
    app.add_typer(grant, name="grant")


def show(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One agent; else all.")] = None,
    packs: PacksOption = None,
    site: SiteOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Print Goal / Can / Cannot / Limits / Risk."""
    from effectgate.grant_view import grant_json

    catalogue = open_catalogue(config, packs, site)
    grants = [catalogue.grant_of_agent(name)] if name is not None else list(catalogue.grants().values())
    views = [grant_json(grant, catalogue.policy.catalog) for grant in grants]
    if as_json:
        print_json(views[0] if name is not None else views)
        return
    for grant in grants:
        _print(grant, catalogue.policy.catalog)


def check(
    packs: PacksOption = None, site: SiteOption = None, as_json: JsonOption = False, config: ConfigOption = None
) -> int:
    """Check grants.yaml against the catalogue; exit 2 with every fault of it."""
    from effectgate.policy.fault import FaultsError

    try:
        grants = open_catalogue(config, packs, site).grants()
    except FaultsError as error:
        if not as_json:
            raise
        print_json({"agents": [], "clipped": 0, "faults": list(map(fault_json, error.faults))})
        return USAGE
    clipped = sum(len(grant.cannot) for grant in grants.values())
    if as_json:
        print_json({"agents": list(grants), "clipped": clipped, "faults": []})
    else:
        print(f"{len(grants)} grants without fault; {clipped} effects are clipped (`effectgate grant show` says why)")
    return 0


def _print(grant: Grant, catalog: Catalog) -> None:
    from effectgate.grant_view import limits_text, risk_text, scope_text

    print(f"{grant.principal}  (ceiling {printable(grant.ceiling.name)}: {printable(grant.ceiling.title)})")
    if grant.goal:
        print(f"  Goal: {printable(grant.goal)}")
    print("  Can:")
    for effect_id, entries in grant.entries.items():
        effect = catalog.effects[effect_id]
        print(f"    {effect_id}  ({effect.risk.word}) {printable(effect.title)}")
        for entry in entries:
            if entry.where:
                print(f"      where {printable(scope_text(entry))}")
    if grant.cannot:
        print("  Cannot:")
    for item in grant.cannot:
        print(f"    {item.effect}: {printable(item.reason)}")
    print(f"  Limits: {limits_text(grant)}")
    print(f"  Risk: {risk_text(grant, catalog)}")
