"""`effectgate packs list|lint|test`: the catalogue, its faults and hazards, its admits/denies tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from effectgate.cli.catalogue import SiteOption, open_catalogue
from effectgate.cli.output import ConfigOption, JsonOption, print_json, print_table

DirectoriesArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="DIR...", help="Read these directories instead of the configured ones.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    packs = typer.Typer(help="The effects that requests are recognised by.", no_args_is_help=True)
    packs.command("list")(list_effects)
    app.add_typer(packs, name="packs")


def list_effects(
    directories: DirectoriesArgument = None,
    site: SiteOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Print every effect, its risk, and the hosts that it reaches."""
    catalog = open_catalogue(config, directories, site).policy.catalog
    if as_json:
        effects = [
            {
                "id": effect.id,
                "title": effect.title,
                "risk": effect.risk.word,
                "reserved": effect.reserved,
                "hosts": list(effect.hosts),
            }
            for effect in catalog.effects.values()
        ]
        print_json({"digest": catalog.digest, "effects": effects})
        return
    rows = [
        (effect.id, effect.risk.word, "reserved" if effect.reserved else "", effect.title, _hosts(effect.hosts))
        for effect in catalog.effects.values()
    ]
    print_table(("effect", "risk", "", "title", "hosts"), rows)
    print(f"{len(rows)} effects, {catalog.digest}")


def _hosts(hosts: tuple[str, ...]) -> str:
    """The first of them, and how many more."""
    return " ".join(hosts[:2]) + (f" and {len(hosts) - 2} more" if len(hosts) > 2 else "")
