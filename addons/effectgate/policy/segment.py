"""One segment of a path pattern: a literal, or a `{name}` with what stands before and after it (design.md section 2, Paths)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from effectgate.policy import language
from effectgate.policy.fault import PatternError
from effectgate.policy.language import Element, Program

PARAMETER_TEXT = re.compile(r"\{([A-Za-z][A-Za-z0-9_]*)\}")
_ONE = Element(frozenset("/"), negated=True)
_RUN = Element(frozenset("/"), negated=True, loop=True)


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment of a pattern: a literal (`name` empty, `prefix` the text), or `prefix{name}suffix`."""

    prefix: str
    name: str = ""
    suffix: str = ""

    @classmethod
    def parse(cls, text: str, part: str) -> Segment:
        """Read one part of the path `text`; PatternError says what is wrong and what to write instead."""
        if "{" not in part and "}" not in part:
            return _interned(part)
        found = list(PARAMETER_TEXT.finditer(part))
        rest = PARAMETER_TEXT.sub("", part)
        if len(found) > 1:
            raise PatternError(
                f"path {text!r} has two parameters in one segment", "bind one and write the rest as text"
            )
        if "{" in rest or "}" in rest:
            raise PatternError(
                f"path {text!r} has a stray brace in {part!r}", "a parameter is {name}: a letter, then a-z, 0-9, _"
            )
        if not found:
            return _interned(part)
        return _interned(part[: found[0].start()], found[0].group(1), part[found[0].end() :])

    @property
    def literal(self) -> bool:
        """Whether it binds nothing."""
        return not self.name

    def value(self, text: str, fold: bool = False) -> str | None:
        """What `{name}` takes of a segment (a literal takes the empty text), or None where it does not match."""
        prefix, suffix, seen = self.prefix, self.suffix, text
        if not (prefix or suffix):
            return text if self.name and text else "" if not (self.name or text) else None
        if fold:
            prefix, suffix, seen = prefix.casefold(), suffix.casefold(), text.casefold()
            text = text if len(seen) == len(text) else seen  # a letter that folds to two moves the places
        if not self.name:
            return "" if seen == prefix else None
        if len(seen) <= len(prefix) + len(suffix) or not seen.startswith(prefix) or not seen.endswith(suffix):
            return None
        return text[len(prefix) : len(text) - len(suffix)]

    def included(self, other: Segment, fold: bool) -> bool:
        """Whether every segment of this one is the other's; `fold` says that the other ignores case."""
        if other.literal:
            return self.literal and other.value(self.prefix, fold) is not None
        if self.literal:
            return other.value(self.prefix, fold) is not None
        mine, its = (self.prefix, self.suffix), (other.prefix, other.suffix)
        if fold:
            mine, its = (mine[0].casefold(), mine[1].casefold()), (its[0].casefold(), its[1].casefold())
        return mine[0].startswith(its[0]) and mine[1].endswith(its[1])

    def intersects(self, other: Segment) -> bool:
        """Whether some segment belongs to both, letters as they stand."""
        if self.literal:
            return other.value(self.prefix) is not None
        if other.literal:
            return self.value(other.prefix) is not None
        return agree(self.prefix, other.prefix) and agree(self.suffix[::-1], other.suffix[::-1])

    def may_begin(self, text: str) -> bool:
        """Whether some segment of this one begins with the text, letters as they stand."""
        return self.prefix.startswith(text) if self.literal else agree(self.prefix, text)

    def program(self, fold: bool) -> Program:
        """The segment as a language over characters."""
        if self.literal:
            return language.literal(self.prefix, fold)
        hole = (_ONE, _RUN)
        return (*language.literal(self.prefix, fold), *hole, *language.literal(self.suffix, fold))

    def folded(self) -> Segment:
        """The segment with its literal text case-folded."""
        return Segment(self.prefix.casefold(), self.name, self.suffix.casefold())


def agree(one: str, two: str) -> bool:
    """Whether one text begins with the other."""
    return one.startswith(two) or two.startswith(one)


@functools.lru_cache(maxsize=1 << 16)
def _interned(prefix: str, name: str = "", suffix: str = "") -> Segment:
    """Packs repeat their segments: one value for equal ones makes a catalogue a third as long to unpickle."""
    return Segment(prefix, name, suffix)
