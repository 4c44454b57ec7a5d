"""Printing: text for people on stdout, JSON for programs with `--json`, errors on stderr in one line with the fix."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.policy.fault import printable as printable

if TYPE_CHECKING:
    from effectgate.policy.fault import Fault

NO = 1
USAGE = 2

ConfigOption = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="The settings file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


class CommandError(Exception):
    """A command that cannot go on: what is wrong, and what to do about it."""

    def __init__(self, message: str, fix: str, code: int = USAGE) -> None:
        super().__init__(f"{message}; {fix}")
        self.code = code


def complain(*lines: str, code: int = USAGE) -> int:
    """Write each line to stderr; returns the exit code."""
    for line in lines:
        print(f"effectgate: {printable(line)}", file=sys.stderr)
    return code


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    escaped = sys.stdout.encoding.lower() != "utf-8"
    print(json_text(value, indent=2, escaped=escaped))


def json_text(value: object, *, indent: int | None = None, escaped: bool = False) -> str:
    """JSON whose strings are safe for a terminal; with `escaped` in ASCII alone."""
    lines = json.dumps(value, indent=indent, ensure_ascii=escaped, default=str).split("\n")
    return "\n".join("".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line) for line in lines)


def fault_json(fault: Fault) -> dict[str, object]:
    """One fault or hazard, for programs."""
    return {
        "file": fault.file,
        "line": fault.line,
        "key": fault.key,
        "message": fault.message,
        "fix": fault.fix,
        "hazard": fault.hazard,
    }


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table for people; where the output is no terminal, plain and never cut to its width."""
    lines = [[printable(str(cell)) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _print_rich(columns, lines)
        return
    widths = [max(map(len, column)) for column in zip(columns, *lines, strict=True)]
    for line in (columns, *lines):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _print_rich(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for line in lines:
        table.add_row(*map(Text, line))
    Console().print(table)
