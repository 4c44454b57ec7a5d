"""What a GraphQL request does: the root fields of the operation that it selects (GraphQL spec, October 2021, sections 2 and 6).

Aliases, arguments and directives change neither which field is resolved nor whether it may be: `@skip` fields count as selected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from graphql import GraphQLError, parse
from graphql.language import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
)

from effectgate.policy.json_body import is_json

GRAPHQL = "application/graphql"
# Lexing is some microseconds a token; a document beyond this is unreadable.
MAX_TOKENS = 10_000
# Every schema has it on its root, and it reveals only the name of the root.
_TYPENAME = "__typename"


@dataclass(frozen=True, slots=True)
class RootField:
    """One root field of the selected operation: `operation` is query, mutation or subscription, `name` as the schema has it."""

    operation: str
    name: str


def holds_graphql(media_type: str) -> bool:
    """Whether a body of this type could be a GraphQL request (GraphQL over HTTP, draft)."""
    return is_json(media_type) or media_type == GRAPHQL


class _UnreadableError(Exception):
    """The document is not one that this module can be sure about."""


def root_fields(text: str, operation_name: str | None) -> tuple[RootField, ...] | None:
    """The root fields selected, each once, in order; None where the document cannot be read or selects no one operation."""
    try:
        document = parse(text, no_location=True, max_tokens=MAX_TOKENS)
        operation = _selected(document, operation_name)
        names = dict.fromkeys(_names(operation.selection_set.selections, _fragments(document), set()))
    except (GraphQLError, RecursionError, _UnreadableError):
        return None
    kept = [name for name in names if name != _TYPENAME] or list(names)
    return tuple(RootField(operation.operation.value, name) for name in kept)


def _selected(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    names = [node.name.value if node.name else "" for node in operations]
    if len(set(names)) < len(names) or ("" in names and len(names) > 1):
        raise _UnreadableError
    wanted = operations if name is None else [node for node, its in zip(operations, names, strict=True) if its == name]
    if len(wanted) != 1 or name == "":
        raise _UnreadableError
    return wanted[0]


def _fragments(document: DocumentNode) -> Mapping[str, FragmentDefinitionNode]:
    """The fragments by name. Anything but operations and fragments, or one name twice, is nothing a server should run."""
    others = [node for node in document.definitions if not isinstance(node, OperationDefinitionNode)]
    fragments = {node.name.value: node for node in others if isinstance(node, FragmentDefinitionNode)}
    if len(fragments) < len(others):
        raise _UnreadableError
    return fragments


def _names(
    selections: Iterable[SelectionNode], fragments: Mapping[str, FragmentDefinitionNode], seen: set[str]
) -> Iterator[str]:
    for node in selections:
        if isinstance(node, FieldNode):
            yield node.name.value
        elif isinstance(node, InlineFragmentNode):
            yield from _names(node.selection_set.selections, fragments, seen)
        elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
            yield from _spread(node.name.value, fragments, seen)


def _spread(name: str, fragments: Mapping[str, FragmentDefinitionNode], seen: set[str]) -> Iterator[str]:
    if name not in fragments:
        raise _UnreadableError
    seen.add(name)
    yield from _names(fragments[name].selection_set.selections, fragments, seen)
