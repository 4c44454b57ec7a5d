"""YAML for settings: one document, text keys, none twice, no aliases; every fault at once, with its line."""

from __future__ import annotations

from typing import cast

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from effectgate.policy.document import Document, KeyPath, key_text, nearest_line
from effectgate.policy.fault import Fault, FaultsError

_TEXT_TAG = "tag:yaml.org,2002:str"
_NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class _Loader(yaml.SafeLoader):
    """SafeLoader, with the line of a value that looks like a time or number and is none."""

    def construct_object(self, node: Node, deep: bool = False) -> object:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise ConstructorError(None, None, str(error), node.start_mark) from error


def read_yaml(text: str, file: str) -> Document:
    """Parse one YAML document; an empty one is an empty table. Raises FaultsError with every fault of the text.

    Safe: only plain data is made (no tags of programs). Times are `datetime.datetime`, dates `datetime.date`.
    """
    try:
        node = yaml.compose(text, Loader=_Loader)
        lines, faults = _survey(node, file)
        value = {} if node is None or faults else _Loader("").construct_document(node)
    except yaml.YAMLError as error:
        raise FaultsError([_syntax_fault(error, file)]) from error
    except RecursionError as error:
        raise FaultsError([Fault(file, 0, "", "the YAML is nested too deeply", "write it flatter")]) from error
    if faults:
        raise FaultsError(faults)
    return Document(file, value, lambda path: nearest_line(lines, path))


def _syntax_fault(error: yaml.YAMLError, file: str) -> Fault:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    line = mark.line + 1 if mark is not None else 0
    return Fault(file, line, "", f"not valid YAML: {problem}", "correct the syntax at this line")


def _survey(root: Node | None, file: str) -> tuple[dict[KeyPath, int], list[Fault]]:
    """The line of every key and item, and the faults that PyYAML itself would let pass."""
    lines: dict[KeyPath, int] = {}
    faults: list[Fault] = []
    seen: set[int] = set()
    todo: list[tuple[KeyPath, Node]] = [] if root is None else [((), root)]
    while todo:
        path, node = todo.pop()
        lines.setdefault(path, node.start_mark.line + 1)
        if id(node) in seen:
            faults.append(_fault(file, node, path, "an alias stands for this value", "write the value out"))
            continue
        seen.add(id(node))
        if isinstance(node, ScalarNode) and node.tag in _NUMBER_TAGS and ":" in node.value:
            message = f"{node.value} would be read as a number of base 60"
            faults.append(_fault(file, node, path, message, "write digits alone, or put the text in quotes"))
        elif isinstance(node, SequenceNode):
            todo += [((*path, index), item) for index, item in enumerate(node.value)]
        elif isinstance(node, MappingNode):
            todo += _entries(node, path, file, lines, faults)
    return lines, faults


def _entries(
    node: MappingNode, path: KeyPath, file: str, lines: dict[KeyPath, int], faults: list[Fault]
) -> list[tuple[KeyPath, Node]]:
    out: list[tuple[KeyPath, Node]] = []
    first: dict[str, int] = {}
    for key, value in node.value:
        if not isinstance(key, ScalarNode) or key.tag != _TEXT_TAG:
            spelt = key.value if isinstance(key, ScalarNode) else "this key"
            faults.append(_fault(file, key, path, f"{spelt} is not read as text", "put the key in quotes"))
            continue
        name, line = cast(str, key.value), key.start_mark.line + 1
        if name in first:
            message = f"the key {key_text((name,))} was already given on line {first[name]}"
            faults.append(_fault(file, key, (*path, name), message, "keep one of the two"))
            continue
        first[name] = lines[(*path, name)] = line
        out.append(((*path, name), value))
    return out


def _fault(file: str, node: Node, path: KeyPath, message: str, fix: str) -> Fault:
    return Fault(file, node.start_mark.line + 1, key_text(path), message, fix)
