"""The words that names of operations are made of, read once from `lexicon.toml` beside this module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import tomli


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The tables of the file, as the modules here ask them; what each means stands in the file."""

    spellings: Mapping[str, str]
    uncounted: frozenset[str]
    ending_in_s: frozenset[str]
    singulars: Mapping[str, str]
    plurals: Mapping[str, str]
    qualifiers: frozenset[str]
    prepositions: frozenset[str]
    acts: Mapping[str, str]
    title_verbs: Mapping[str, str]
    signs: Mapping[str, tuple[frozenset[str], ...]]
    lasts: Mapping[str, frozenset[str]]

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Lexicon:
        """The lexicon that the tables of the file make."""
        return cls(
            spellings={word.casefold(): word for word in table["spellings"].split()},
            uncounted=frozenset(table["uncounted"].split()),
            ending_in_s=frozenset(table["ending_in_s"].split()),
            singulars=table["irregular"],
            plurals={single: many for many, single in table["irregular"].items()},
            qualifiers=frozenset(table["qualifiers"].split()),
            prepositions=frozenset(table["prepositions"].split()),
            acts=_by_word(table["acts"].items()),
            title_verbs=_by_word(table["title_verbs"].items()),
            signs={kind: tuple(frozenset(sign.split()) for sign in signs) for kind, signs in table["signs"].items()},
            lasts={kind: frozenset(words.split()) for kind, words in table["lasts"].items()},
        )


def _by_word(rows: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    return {word: key for key, words in rows for word in words.split()}


LEXICON = Lexicon.read(tomli.loads(files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8")))
