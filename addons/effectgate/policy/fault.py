"""Faults as values: what is wrong in a file, where, and what to write instead (design.md section 2, "Faults")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


def printable(text: str) -> str:
    """Text that may come from a request or a file, safe for a terminal: control and format characters are escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


class PatternError(ValueError):
    """A host, path or value pattern that cannot be accepted. `message` says what is wrong, `fix` what to write."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing wrong in one file, or, where `hazard` names its kind, one thing that is merely dangerous.

    `key` is a path such as ``effect[2].matches.http[0].host`` (indices from 0); `line` counts from 1, 0 means unknown.
    """

    file: str
    line: int
    key: str
    message: str
    fix: str
    hazard: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        key = f" {self.key}:" if self.key else ""
        kind = f" [{self.hazard}]" if self.hazard else ""
        return printable(f"{place}:{key}{kind} {self.message}; fix: {self.fix}")


class FaultsError(Exception):
    """A load was refused. `faults` holds every fault of every file, in order of file and line."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(faults))
        super().__init__("\n".join(map(str, self.faults)))
