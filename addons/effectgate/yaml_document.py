"""YAML that a person wrote: safe types, each key with its line; duplicate keys and aliases are faults, all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from effectgate.policy.fault import Fault, FaultsError

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: plain values, and the line of each key path."""

    file: str
    value: object
    lines: Mapping[KeyPath, int]

    def line(self, path: KeyPath) -> int:
        """The line of `path`, or of the nearest key above it that was written (1 at the top)."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def fault(self, path: KeyPath, message: str, fix: str) -> Fault:
        """A fault at `path` of this document."""
        return Fault(self.file, self.line(path), dotted(path), message, fix)


def dotted(path: KeyPath) -> str:
    """A key path as people read it, such as ``network.ports[1]``."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


class _Loader(yaml.SafeLoader):
    """SafeLoader, whose constructors raise a bare ValueError for a date that does not exist: here it gets its line."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error


def read_yaml(text: str, file: str) -> Document:
    """Parse `text`; `file` is the name shown in faults. Raises FaultsError (also for YAML that does not parse)."""
    lines: dict[KeyPath, int] = {}
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        # Walked first: constructing flattens merge keys away.
        faults = [Fault(file, line, dotted(path), *words) for path, line, words in _walk(node, (), lines, set())]
        value = _Loader("").construct_document(node) if node is not None and not faults else None
    except yaml.YAMLError as error:
        raise FaultsError([_syntax_fault(error, file)]) from error
    except RecursionError as error:
        raise FaultsError([Fault(file, 0, "", "is nested too deeply", "write it flatter")]) from error
    if faults:
        raise FaultsError(faults)
    return Document(file, value, lines)


def _syntax_fault(error: yaml.YAMLError, file: str) -> Fault:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return Fault(file, mark.line + 1 if mark else 1, "", f"not YAML: {problem}", "mend the syntax of this line")


_Words = tuple[str, str]
_DUPLICATE: _Words = ("this key is written twice", "keep one of the two")
_ALIAS: _Words = ("aliases and merge keys are not read", "write the value out")


def _walk(
    node: yaml.Node | None, path: KeyPath, lines: dict[KeyPath, int], seen: set[int]
) -> Iterator[tuple[KeyPath, int, _Words]]:
    """Note the line of every key below `node`; yield what this reader refuses, each with its path and line."""
    if node is None:
        return
    lines.setdefault(path, node.start_mark.line + 1)
    if id(node) in seen:
        yield path, lines[path], _ALIAS
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        yield from _walk_mapping(node, path, lines, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _walk(item, (*path, index), lines, seen)


def _walk_mapping(
    node: yaml.MappingNode, path: KeyPath, lines: dict[KeyPath, int], seen: set[int]
) -> Iterator[tuple[KeyPath, int, _Words]]:
    keys: set[str] = set()
    for key, value in node.value:
        here, line = (*path, str(key.value)), key.start_mark.line + 1
        if key.tag == "tag:yaml.org,2002:merge":
            yield here, line, _ALIAS
        elif key.value in keys:
            yield here, line, _DUPLICATE
        else:
            keys.add(key.value)
            lines[here] = line
            yield from _walk(value, here, lines, seen)
