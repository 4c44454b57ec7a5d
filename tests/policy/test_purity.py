"""The policy room imports nothing that does I/O, and nothing above it (design.md section 10). Import-linter asks the same of CI."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[2] / "addons" / "effectgate" / "policy"
LIBRARIES = {"pydantic", "pydantic_core", "publicsuffixlist", "idna", "graphql", "rfc8785"}
PURE = {
    "__future__", "collections", "contextlib", "dataclasses", "datetime", "difflib", "enum", "functools", "hashlib",
    "ipaddress", "itertools", "json", "re", "types", "typing", "unicodedata", "urllib", "zlib",
}  # fmt: skip


def imported(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""


@pytest.mark.parametrize("source", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_only_pure_imports(source: Path) -> None:
    for name in imported(source):
        allowed = name.partition(".")[0] in PURE | LIBRARIES or name.startswith("effectgate.policy")
        assert allowed, f"{source.name} imports {name}"


def test_the_list_is_of_the_standard_library() -> None:
    assert set(sys.stdlib_module_names) >= PURE


@pytest.mark.parametrize("word", ["pretty_host", "datetime.now", "utcnow", "print("])
def test_nothing_reads_the_clock_or_what_a_client_merely_asserts(word: str) -> None:
    assert not [source.name for source in ROOM.glob("*.py") if word in source.read_text()]
