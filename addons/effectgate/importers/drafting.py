"""From operations to the text of a pack: effects, then examples that the catalogue made of them answers as they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tomli

from effectgate.importers.effects import DraftEffect, Taken, draft_effects
from effectgate.importers.examples import draft_examples
from effectgate.importers.operation import Operation
from effectgate.importers.recipe import Recipe
from effectgate.importers.toml import effects_text, examples_text
from effectgate.importers.unnamed import unnamed
from effectgate.policy.catalog import Catalog
from effectgate.policy.document import Document
from effectgate.policy.fault import FaultsError
from effectgate.policy.pack import Pack, at_example_sites, read_pack
from effectgate.policy.site import Sites


@dataclass(frozen=True, slots=True)
class Draft:
    """The text of a pack file, and the effects in it that were drafted."""

    text: str
    effects: tuple[DraftEffect, ...]


def head_of(pack: str) -> str:
    """The beginning of a pack file that has no hand-written part."""
    return f'[plugin]\nname = "{pack}"\nversion = 1\n'


def draft(recipe: Recipe, hand: str, mark: str, operations: Sequence[Operation]) -> Draft:
    """A pack file: its hand-written part, the mark, and effects for what that part leaves unnamed. FaultsError where they are no pack together."""
    own = read(recipe.pack, hand)
    left = list(unnamed(operations, Catalog.build(own.effects), frozenset(recipe.catch_all)))
    taken = Taken(
        {effect.id.partition("/")[2] for effect in own.effects}, {effect.title.casefold() for effect in own.effects}
    )
    effects = draft_effects(left, taken, several_services=recipe.several_services)
    text = f"{hand.rstrip()}\n\n{mark}{effects_text(effects, recipe.because)}"
    examples = list(draft_examples(recipe.pack, effects, Catalog.build(read(recipe.pack, text).effects)))
    return Draft(f"{text}\n{examples_text(examples)}", tuple(effects))


def read(pack: str, text: str) -> Pack:
    """The pack that a text holds, its sites where examples ask for them. Raises FaultsError."""
    document = Document(f"{pack}.toml", tomli.loads(text), lambda path: 0)
    found, faults = read_pack(document, pack, Sites())
    if found is None:
        raise FaultsError(faults)
    return at_example_sites(found)
