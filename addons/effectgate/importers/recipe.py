"""A recipe: how the drafted part of a shipped pack is made, so that one command makes it again (`effects/sources/PACK.toml`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from effectgate.policy.document import Document
from effectgate.policy.fault import FaultsError
from effectgate.policy.schema import Table, read_table
from effectgate.policy.words import EffectId, Name

Kind = Literal["botocore", "discovery", "openapi"]

# Ends the hand-written part of a pack file; what follows is made anew.
MARK = "# --- Drafted from here on"


class Recipe(Table):
    """The keys of a recipe.

    `documents` and `labels` are file patterns below the directory of the unpacked packages. `catch_all` are hand-written effects that name more than
    they describe: what only they name is drafted all the same. `left_out`: service -> why it has no draft.
    """

    pack: Name
    kind: Kind
    source: str
    documents: list[str] = Field(default_factory=list)
    labels: str = ""
    because: str = "the vendor's own description calls it a read"
    about: str = ""
    several_services: bool = False
    name: str = ""
    server: str = ""
    containers: list[str] = Field(default_factory=list)
    slashes: list[str] = Field(default_factory=list)
    catch_all: list[EffectId] = Field(default_factory=list)
    names: dict[str, str] = Field(default_factory=dict)
    left_out: dict[str, str] = Field(default_factory=dict)


def read_recipe(document: Document) -> Recipe:
    """The recipe, or FaultsError with every fault in it."""
    recipe, faults = read_table(Recipe, document, document.value, retry=False)
    if recipe is None:
        raise FaultsError(faults)
    return recipe


def by_hand(text: str) -> str:
    """The hand-written part of a pack file."""
    return text.partition(MARK)[0].rstrip() + "\n" if text else ""


def mark(recipe: Recipe, command: str) -> str:
    """What stands between the hand-written part and the drafted one: source, command, what is left out."""
    lines = [f"{MARK}, from {recipe.source}, by: {command}"]
    lines += [f"# {line}" for line in recipe.about.strip().splitlines()]
    lines += [f"# Left out: {service}: {why}" for service, why in recipe.left_out.items()]
    return "\n".join(lines) + "\n\n"
