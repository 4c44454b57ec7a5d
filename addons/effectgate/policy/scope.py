"""Scopes: which values of a parameter a grant covers (design.md section 2, "Parameters and scopes")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScopeValue:
    """One value of a `where`: a pattern that a person wrote, or, `literal`, exactly one text (``{is: "x*"}``)."""

    text: str
    literal: bool = False

    def covers(self, value: str, fold: bool = False) -> bool:
        """Whether the value lies in the scope; `*` never crosses `/`. `fold` ignores letter case."""
        text, value = (self.text.casefold(), value.casefold()) if fold else (self.text, value)
        if self.literal or "*" not in text:
            return text == value
        pieces, segments = text.split("/"), value.split("/")
        return len(pieces) == len(segments) and all(map(_run_matches, pieces, segments))

    def facts(self) -> object:
        """The spelling for JSON and YAML: text, or ``{"is": text}``."""
        return {"is": self.text} if self.literal else self.text


def _run_matches(pattern: str, text: str) -> bool:
    """Match `*` as any run, leftmost first: linear, where a regular expression would go back over a hostile value."""
    head, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    if not text.startswith(head) or len(text) < len(head) + len(rest[-1]) or not text.endswith(rest[-1]):
        return False
    place, end = len(head), len(text) - len(rest[-1])
    for piece in rest[:-1]:
        found = text.find(piece, place, end)
        if found < 0:
            return False
        place = found + len(piece)
    return True


Where = Mapping[str, tuple[ScopeValue, ...]]
