"""Patterns for the values of discriminators: `*` any run, or one `{name}` that binds (design.md section 2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from effectgate.policy import language
from effectgate.policy.fault import PatternError
from effectgate.policy.language import Element, Program
from effectgate.policy.segment import agree
from effectgate.policy.walk import glob_matches

_PARAMETER = re.compile(r"\{([A-Za-z][A-Za-z0-9_]*)\}")
_HOLE = "\0"
_ONE = Element(frozenset(), negated=True)
_RUN = Element(frozenset(), negated=True, loop=True)


@dataclass(frozen=True, slots=True)
class ValuePattern:
    """Literal `runs` between stars; with `name` set exactly two runs, and what lies between them (never empty) is bound."""

    text: str
    runs: tuple[str, ...]
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> ValuePattern:
        """Read a pattern; PatternError where a parameter stands twice or beside a `*`."""
        found = list(_PARAMETER.finditer(text))
        if not found:
            return cls(text, tuple(text.split("*")))
        if len(found) > 1 or "*" in text:
            raise PatternError(
                f"value {text!r} has a parameter beside another or beside `*`", "bind one {name} and literal text"
            )
        return cls(text, (text[: found[0].start()], text[found[0].end() :]), found[0].group(1))

    @property
    def parameters(self) -> frozenset[str]:
        """The one parameter bound, if any."""
        return frozenset((self.name,)) if self.name else frozenset()

    @property
    def wild(self) -> bool:
        """Whether it has a `*` or a parameter, and so counts less in specificity."""
        return len(self.runs) > 1

    def match(self, value: str, fold: bool = False) -> dict[str, str] | None:
        """The parameter bound, as a mapping, or None where the value does not match."""
        if len(self.runs) == 1:
            same = value.casefold() == self.text.casefold() if fold else value == self.text
            return {} if same else None
        if not glob_matches(self.runs, value, fold):
            return None
        if not self.name:
            return {}
        return self._bound(value, fold)

    def _bound(self, value: str, fold: bool) -> dict[str, str] | None:
        before, after = self.runs
        folded = value.casefold() if fold else value
        if len(folded) != len(value):  # a letter that folds to two moves the places
            value, before, after = folded, before.casefold(), after.casefold()
        bound = value[len(before) : len(value) - len(after)]
        return {self.name: bound} if bound else None

    def included(self, wholes: Sequence[ValuePattern], fold: bool, whole_fold: bool) -> bool:
        """Whether every value of this pattern is one of some whole's; exact."""
        if whole_fold or not fold:  # a letter that no pattern has, where anything may stand: only a `*` takes it
            word = _HOLE.join(self.runs)
            if any(not whole.name and whole.match(word, whole_fold) is not None for whole in wholes):
                return True
            if len(wholes) == 1 and not wholes[0].name:
                return False
        return language.included(self.program(fold), [whole.program(whole_fold) for whole in wholes])

    def intersects(self, other: ValuePattern, fold: bool) -> bool:
        """Whether some value belongs to both; `fold` where either ignores letter case. Exact: what lies between two runs is free."""
        if not other.wild:
            return self.match(other.text, fold) is not None
        if not self.wild:
            return other.match(self.text, fold) is not None
        mine, its = ([run.casefold() for run in runs] if fold else list(runs) for runs in (self.runs, other.runs))
        return agree(mine[0], its[0]) and agree(mine[-1][::-1], its[-1][::-1])

    def program(self, fold: bool = False) -> Program:
        """The pattern as a language over characters; with `fold`, over either case of each."""
        out = language.literal(self.runs[0], fold)
        for run in self.runs[1:]:
            out = (*out, *((_ONE,) if self.name else ()), _RUN, *language.literal(run, fold))
        return out
