"""A parsed file: its name, its value, and on which line each key stands. Readers of TOML and YAML make these."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from effectgate.policy.fault import Fault, printable

KeyPath = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def key_text(path: KeyPath) -> str:
    """The spelling of a key path for people, such as ``effect[2].matches.http[0].host``."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
            continue
        spelt = part if _BARE.fullmatch(part) else printable(json.dumps(part, ensure_ascii=False))
        out += f".{spelt}" if out else spelt
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """`line_of` answers for any key path; where the file lacks it, with the line of the nearest one that holds it."""

    file: str
    value: object
    line_of: Callable[[KeyPath], int]

    def fault(self, path: KeyPath, message: str, fix: str, hazard: str = "") -> Fault:
        """A fault, or a hazard of that kind, at a key of this file."""
        return Fault(self.file, self.line_of(path), key_text(path), message, fix, hazard)


def nearest_line(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """The line of a key path, or of the longest part of it that has one, or 1."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)
