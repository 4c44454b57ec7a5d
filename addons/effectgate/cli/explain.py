"""`effectgate explain`: the verdict on a request, and why; `--batch` for many."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli.output import NO, CommandError, ConfigOption, JsonOption, print_json, printable

if TYPE_CHECKING:
    from effectgate.explanation import Explainer, Question
    from effectgate.policy.grant import Grant
    from effectgate.policy.verdict import Proposal, Verdict

AgentOption = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Ask with this agent's grant.")]
EffectsOption = Annotated[
    str | None, typer.Option("--effects", metavar="A,B|@FILE", help="Ask with exactly these effects; no ceiling or limit.")
]
PacksOption = Annotated[
    list[Path] | None, typer.Option("--packs", metavar="DIR", help="Read these packs instead of the configured ones.")
]
SiteOption = Annotated[
    list[str] | None, typer.Option("--site", metavar="NAME=HOST", help="Where a self-hosted service lives.")
]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("explain")(explain)


def explain(
    method: Annotated[str | None, typer.Argument(metavar="METHOD")] = None,
    url: Annotated[str | None, typer.Argument(metavar="URL")] = None,
    agent: AgentOption = None,
    effects: EffectsOption = None,
    packs: PacksOption = None,
    site: SiteOption = None,
    header: Annotated[list[str] | None, typer.Option("-H", "--header", metavar="'NAME: VALUE'")] = None,
    data: Annotated[str, typer.Option("--data", metavar="TEXT|@FILE", help="The body.")] = "",
    batch: Annotated[bool, typer.Option("--batch", help="One JSON request a line on stdin, one answer a line out.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Say what would be answered, and why. Exit 0 where it is ALLOW (with --batch: where every line was answered)."""
    if batch == (method is not None):
        raise CommandError("either METHOD URL or --batch is needed", "write `effectgate explain GET https://…`")
    if agent is not None and effects is not None:
        raise CommandError("--agent and --effects exclude each other", "leave one out")
    catalogue = open_catalogue(config, packs, site)
    grant = catalogue.grant_of_ids(read_ids(effects or "")) if effects is not None else _held(catalogue, agent, batch)
    explainer = Explainer(catalogue.library.catalog, frozenset(catalogue.settings.written.network.ports))
    if batch:
        return _batch(explainer, catalogue, grant)
    if url is None:
        raise CommandError("the URL is missing", "write `effectgate explain METHOD URL`")
    return _one(explainer, _question(method or "", url, header or [], data), grant, as_json)
