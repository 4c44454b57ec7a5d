"""Discriminators: true, false or unreadable (design.md section 2). Unreadable never admits and always counts where it could block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum

from effectgate.policy.effect import GraphQL, Patterns, Shape
from effectgate.policy.facts import Part, RequestFacts
from effectgate.policy.field import EMPTY, FORM, MULTIPART, Table
from effectgate.policy.graphql_document import holds_graphql
from effectgate.policy.json_body import is_json, strings_at
from effectgate.policy.value import ValuePattern


class Truth(IntEnum):
    """The value of a discriminator; several together are worth the least of them."""

    FALSE = 0
    UNREADABLE = 1
    TRUE = 2


Bound = Mapping[str, str]
NOTHING: Bound = {}


def evaluate(shape: Shape, facts: RequestFacts, fold: bool) -> tuple[Truth, Bound]:
    """The shape's discriminators together, and what the true ones bind; `fold` is the reading on which letters are folded.

    Folding never makes a discriminator less than unreadable that was not false before.
    """
    together, bound = Truth.TRUE, dict[str, str]()
    for patterns, carrier, other in _carriers(shape, facts):
        for name, wanted in patterns.items():
            truth, taken = _value(name, wanted, carrier, other, fold or shape.fold)
            if truth is Truth.FALSE:
                return Truth.FALSE, NOTHING
            together = min(together, truth)
            bound.update(taken)
    return (
        (together, bound) if facts.part is None else _with_part(shape, facts.part, fold or shape.fold, together, bound)
    )


def _with_part(shape: Shape, part: Part, fold: bool, together: Truth, bound: dict[str, str]) -> tuple[Truth, Bound]:
    """What the discriminators that read documents add."""
    for pointer, wanted in shape.json.items():
        truth, taken = _at_pointer(part, pointer, wanted, fold)
        together = min(together, truth)
        bound.update(taken)
    if shape.graphql is not None:
        together = min(together, _root_field(shape.graphql, part, fold))
    return (together, bound) if together is not Truth.FALSE else (together, NOTHING)


def _at_pointer(part: Part, pointer: str, wanted: tuple[ValuePattern, ...], fold: bool) -> tuple[Truth, Bound]:
    if not part.json:
        return Truth.FALSE, NOTHING
    values = None if part.document is None else strings_at(part.document, pointer, fold)
    if values is None or len(values) > 1:
        return Truth.UNREADABLE, NOTHING
    return _first(wanted, next(iter(values)), fold) if values else (Truth.FALSE, NOTHING)


def _root_field(wanted: GraphQL, part: Part, fold: bool) -> Truth:
    if not part.graphql:
        return Truth.FALSE
    if part.field is None:
        return Truth.UNREADABLE
    return Truth.TRUE if wanted.names(part.field.operation, part.field.name, fold) else Truth.FALSE


def _carriers(shape: Shape, facts: RequestFacts) -> Iterator[tuple[Patterns, Table | None, Table | None]]:
    """(patterns, their carrier, the carrier that must not contradict it); None is one that cannot be read."""
    if shape.headers:
        yield shape.headers, *tables("headers", facts)
    if shape.query:
        yield shape.query, *tables("query", facts)
    if shape.form:
        yield shape.form, *tables("form", facts)


def tables(carrier: str, facts: RequestFacts) -> tuple[Table | None, Table | None]:
    """A carrier (headers, query or form) and the one that must not contradict it; None is one that cannot be read."""
    if carrier == "headers":
        return facts.header_table, EMPTY
    if carrier == "form":
        return facts.form_table, facts.query_table
    return facts.query_table, facts.form_table if facts.media_type in (FORM, MULTIPART) else EMPTY


def values(name: str, carrier: Table | None, other: Table | None, fold: bool) -> frozenset[str] | None:
    """The one value of a name as a set, empty where it has none; None where that is unreadable."""
    if carrier is None:
        return None
    found = carrier.values(name, fold)
    if found and (other is None or len(found | other.values(name, fold)) > 1):
        return None
    return found


def _value(
    name: str, wanted: tuple[ValuePattern, ...], carrier: Table | None, other: Table | None, fold: bool
) -> tuple[Truth, Bound]:
    found = values(name, carrier, other, fold)
    if found is None:
        return Truth.UNREADABLE, NOTHING
    return _first(wanted, next(iter(found)), fold) if found else (Truth.FALSE, NOTHING)


def _first(wanted: tuple[ValuePattern, ...], value: str, fold: bool) -> tuple[Truth, Bound]:
    for pattern in wanted:
        if (bound := pattern.match(value, fold)) is not None:
            return Truth.TRUE, bound
    return Truth.FALSE, NOTHING


def conditions_hold(shape: Shape, facts: RequestFacts) -> bool:
    """What a shape asks beside its set of requests: never asked on a reading, and no part of containment."""
    if facts.body.present and not shape.body and facts.method in ("GET", "HEAD", "OPTIONS"):
        return False
    if (facts.websocket and not shape.websocket) or (facts.encoded_slash and not shape.encoded_slash):
        return False
    if shape.absent and any(name in shape.absent for name, _ in facts.headers):
        return False
    return shape.query_only is None or _query_within(shape, facts)


def _query_within(shape: Shape, facts: RequestFacts) -> bool:
    table, allowed = facts.query_table, shape.query_only or frozenset()
    return table is not None and all(name in allowed or name in shape.query for name in table.exact)


def inspect_bytes(shape: Shape, facts: RequestFacts) -> int:
    """How much of the body this shape needs held to be decided, in bytes. Any form is held: `_method` may be in it."""
    if not facts.body.present:
        return 0
    reads = facts.media_type == FORM or (shape.json and is_json(facts.media_type))
    return shape.inspect if reads or (shape.graphql is not None and holds_graphql(facts.media_type)) else 0
