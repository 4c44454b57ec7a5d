"""`effectgate grant propose`: a grant suggested from a goal, from names, from receipts or from an allow-list."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli.basis import Basis, of_allowlist, of_receipts
from effectgate.cli.catalogue import Catalogue, PacksOption, SiteOption, open_catalogue, read_ids
from effectgate.cli.output import NO, CommandError, ConfigOption, JsonOption, print_json

if TYPE_CHECKING:
    from effectgate.policy.scope import ScopeValue
    from effectgate.policy.suggestion import LeftOut


def register(grant: typer.Typer) -> None:
    """Add the command of this module below `grant`."""
    grant.command("propose")(propose)


def propose(
    goal: Annotated[str, typer.Option("--goal", metavar="TEXT", help="What the agent is to do, in words.")] = "",
    effects: Annotated[str, typer.Option("--effects", metavar="A,B|@FILE", help="Add these effects by name.")] = "",
    receipts: Annotated[
        bool, typer.Option("--from-receipts", help="What the recorded requests need (of --agent, else of all).")
    ] = False,
    allowlist: Annotated[
        Path | None, typer.Option("--from-allowlist", metavar="FILE", help="Hosts or URLs, one a line.")
    ] = None,
    store: Annotated[Path | None, typer.Option("--store", metavar="FILE", help="The receipts, if elsewhere.")] = None,
    repository: Annotated[
        Path | None, typer.Option("--repository", metavar="DIR", help="Only the package registries that it needs.")
    ] = None,
    agent: Annotated[str, typer.Option("--agent", metavar="NAME", help="Whose grant it is to be.")] = "",
    ceiling: Annotated[
        str | None, typer.Option("--ceiling", metavar="NAME", help="In place of the least that holds it.")
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option("--where", metavar="NAME=VALUE", help="Narrow every effect that binds NAME.")
    ] = None,
    packs: PacksOption = None,
    site: SiteOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Print a grant for grants.yaml, sealed to its effects, with what it leaves out and why. Exit 1 where nothing fits."""
    from effectgate.policy.suggestion import CeilingError, suggest
    from effectgate.suggestion_view import Heading, grants_text, suggestion_json

    catalogue = open_catalogue(config, packs, site)
    bases = [
        *([_of_goal(catalogue, packs, goal, repository)] if goal else []),
        *([_of_names(catalogue, read_ids(effects))] if effects else []),
        *([of_receipts(catalogue, store, agent)] if receipts else []),
        *([of_allowlist(catalogue, allowlist)] if allowlist is not None else []),
    ]
    if not bases:
        raise CommandError(
            "nothing says what to propose", "give --goal TEXT, --effects A,B, --from-receipts or --from-allowlist FILE"
        )
    try:
        suggestion = suggest(
            catalogue.policy.catalog,
            catalogue.policy.ceilings,
            [wish for basis in bases for wish in basis.wishes],
            [item for basis in bases for item in basis.left_out],
            ceiling=ceiling,
            scope=_scope(where or []),
        )
    except CeilingError as error:
        message, _, fix = str(error).partition("; ")
        raise CommandError(message, fix) from error
    if not suggestion.entries:
        raise CommandError(*_nothing(suggestion.left_out), code=NO)
    heading = Heading(agent or "new-agent", goal, tuple(note for basis in bases for note in basis.notes))
    if as_json:
        print_json({**suggestion_json(heading, suggestion), "hosts": [host for basis in bases for host in basis.hosts]})
    else:
        print(grants_text(heading, suggestion), end="")


def _of_goal(catalogue: Catalogue, packs: Iterable[Path] | None, goal: str, repository: Path | None) -> Basis:
    from effectgate.packs_io import load_goals
    from effectgate.policy.goal import map_goal

    rules = load_goals(packs or catalogue.settings.packs)
    if not rules.rules:
        raise CommandError(
            "there are no goal rules beside the packs", "add goals/NAME.toml there, or use --effects A,B"
        )
    mapped = map_goal(rules, goal, catalogue.policy.catalog, _names_in(repository))
    if not mapped.fired:
        raise CommandError(
            f"no rule knows a word of the goal {goal!r}",
            "say what is to be read (CI logs, pods, a table, a service by its name), or name effects with --effects",
            code=NO,
        )
    return Basis(mapped.wishes, mapped.left_out, tuple(f'Rule {f.rule} fired on "{f.words}".' for f in mapped.fired))


def _names_in(directory: Path | None) -> frozenset[str] | None:
    if directory is None:
        return None
    if not directory.is_dir():
        raise CommandError(f"{directory} is no directory", "name the top directory of the repository")
    return frozenset(path.name for path in directory.iterdir())


def _of_names(catalogue: Catalogue, ids: Iterable[str]) -> Basis:
    from effectgate.policy.suggestion import Wish

    known = catalogue.grant_of_ids(ids)
    return Basis(tuple(Wish(effect, "asked for by name", {}) for effect in known.entries))


def _scope(options: Iterable[str]) -> dict[str, tuple[ScopeValue, ...]]:
    from effectgate.policy.scope import ScopeValue

    out: dict[str, tuple[ScopeValue, ...]] = {}
    for option in options:
        name, _, value = option.partition("=")
        if not name or not value:
            raise CommandError(f"--where {option!r} is not NAME=VALUE", "write --where owner=acme; `*` is any run")
        out[name] = (*out.get(name, ()), ScopeValue(value))
    return out


def _nothing(left_out: Iterable[LeftOut]) -> tuple[str, str]:
    """What is wrong where no entry is left, and the first reason as the remedy."""
    first = next(iter(left_out), None)
    if first is None:
        return "nothing fits", "name effects with --effects A,B (`effectgate packs list`)"
    return f"nothing fits: {first.what} is left out", first.reason
