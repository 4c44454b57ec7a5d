"""From identifiers to English words: splitting, singular and plural, how abbreviations are written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from effectgate.importers.lexicon import LEXICON

_WORD = re.compile(r"[A-Z]+s?(?=[A-Z][a-z]|[^A-Za-z0-9]|$)|[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+[a-z]*")
# Words of up to three letters end in s by nature, but for these plurals.
_SHORT_PLURALS = frozenset({"ads", "cas", "dbs", "ids", "ips", "vms"})


def split(identifier: str) -> tuple[str, ...]:
    """The words of a CamelCase, snake_case or kebab-case identifier, in small letters."""
    return tuple(word.casefold() for word in _WORD.findall(identifier.replace("IPv", "Ipv")))


def singular(word: str) -> str:
    """One of them."""
    if word in LEXICON.singulars:
        return LEXICON.singulars[word]
    if word in LEXICON.ending_in_s or not word.endswith("s") or word.endswith("ss"):
        return word
    if len(word) < 4 and word not in _SHORT_PLURALS:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zes", "uses")) else word[:-1]


def plural(word: str) -> str:
    """Many of them; what cannot be counted stays as it is."""
    if word in LEXICON.plurals:
        return LEXICON.plurals[word]
    if word in LEXICON.uncounted:
        return word
    if word in LEXICON.spellings:
        return word + "s"
    if word.endswith("y") and word[-2:-1] not in ("", "a", "e", "i", "o", "u"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "sh", "ch")) else "s")


def written(word: str) -> str:
    """The word as it stands in a sentence."""
    spelled = LEXICON.spellings.get(word)
    if spelled is None and word.endswith("s") and word[:-1] in LEXICON.spellings:
        spelled = LEXICON.spellings[word[:-1]] + "s"
    return spelled or word


def phrase(thing: Sequence[str]) -> str:
    """Many of a thing, as it stands in a sentence: `("hosted", "zone")` is `hosted zones`."""
    *before, last = thing
    return " ".join(written(word) for word in (*before, plural(last)))


def listed(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)
