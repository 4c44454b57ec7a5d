"""Discriminators: true, false or unreadable (design.md section 2). Unreadable never admits and always counts where it could block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum

from effectgate.policy.effect import Patterns, Shape
from effectgate.policy.facts import RequestFacts
from effectgate.policy.field import EMPTY, FORM, MULTIPART, Table
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
    return together, bound


def _carriers(shape: Shape, facts: RequestFacts) -> Iterator[tuple[Patterns, Table | None, Table | None]]:
    """(patterns, their carrier, the carrier that must not contradict it); None is one that cannot be read."""
    if shape.headers:
        yield shape.headers, facts.header_table, EMPTY
    if shape.query:
        is_form = facts.media_type in (FORM, MULTIPART)
        yield shape.query, facts.query_table, facts.form_table if is_form else EMPTY
    if shape.form:
        yield shape.form, facts.form_table, facts.query_table


def _value(
    name: str, wanted: tuple[ValuePattern, ...], carrier: Table | None, other: Table | None, fold: bool
) -> tuple[Truth, Bound]:
    if carrier is None:
        return Truth.UNREADABLE, NOTHING
    values = carrier.values(name, fold)
    if not values:
        return Truth.FALSE, NOTHING
    if other is None or len(values | other.values(name, fold)) > 1:
        return Truth.UNREADABLE, NOTHING
    value = next(iter(values))
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
    return shape.inspect if facts.body.present and facts.media_type == FORM else 0
