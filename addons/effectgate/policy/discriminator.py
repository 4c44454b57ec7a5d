"""Discriminators: true, false or unreadable (design.md section 2). Unreadable never admits and always counts where it could block."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from effectgate.policy import field
from effectgate.policy.effect import Patterns, Shape
from effectgate.policy.facts import RequestFacts
from effectgate.policy.value import ValuePattern

Pairs = tuple[tuple[str, str], ...] | None


class Truth(IntEnum):
    """The value of a discriminator; several together are worth the least of them."""

    FALSE = 0
    UNREADABLE = 1
    TRUE = 2


Bound = Mapping[str, str]
NOTHING: Bound = {}


def evaluate(shape: Shape, facts: RequestFacts) -> tuple[Truth, Truth, Bound]:
    """The shape's discriminators together: on the plain reading, on the most favourable reading (letters folded), and what they bind."""
    if not (shape.query or shape.headers or shape.form):
        return Truth.TRUE, Truth.TRUE, NOTHING
    plain = possible = Truth.TRUE
    bound: dict[str, str] = {}
    for patterns, pairs, other in _carriers(shape, facts):
        for name, wanted in patterns.items():
            exact, taken = _value(name, wanted, pairs, other, shape.fold)
            plain = min(plain, exact)
            possible = min(possible, max(exact, _value(name, wanted, pairs, other, True)[0]))
            bound.update(taken)
    return plain, possible, bound


def _carriers(shape: Shape, facts: RequestFacts) -> tuple[tuple[Patterns, Pairs, Pairs], ...]:
    """(patterns, the carrier's pairs, the pairs of the carrier that must not contradict it)."""
    out: list[tuple[Patterns, Pairs, Pairs]] = []
    if shape.headers:
        out.append((shape.headers, facts.headers, ()))
    if shape.query:
        is_form = field.media_type(facts.header("content-type")) == field.FORM
        out.append((shape.query, facts.query_pairs, facts.form_pairs if is_form else ()))
    if shape.form:
        out.append((shape.form, facts.form_pairs, facts.query_pairs))
    return tuple(out)


def _value(name: str, wanted: tuple[ValuePattern, ...], pairs: Pairs, other: Pairs, fold: bool) -> tuple[Truth, Bound]:
    if pairs is None:
        return Truth.UNREADABLE, NOTHING
    values = _named(name, pairs, fold)
    if not values:
        return Truth.FALSE, NOTHING
    if other is None or len(values | _named(name, other, fold)) > 1:
        return Truth.UNREADABLE, NOTHING
    value = next(iter(values))
    for pattern in wanted:
        if (bound := pattern.match(value, fold)) is not None:
            return Truth.TRUE, bound
    return Truth.FALSE, NOTHING


def _named(name: str, pairs: tuple[tuple[str, str], ...], fold: bool) -> set[str]:
    if fold:
        name = name.casefold()
        return {value for known, value in pairs if known.casefold() == name}
    return {value for known, value in pairs if known == name}


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
    pairs, allowed = facts.query_pairs, shape.query_only or frozenset()
    return pairs is not None and all(name in allowed or name in shape.query for name, _ in pairs)


def inspect_bytes(shape: Shape, facts: RequestFacts) -> int:
    """How much of the body this shape needs held to be decided, in bytes."""
    if not facts.body.present:
        return 0
    is_form = field.media_type(facts.header("content-type")) == field.FORM
    return shape.inspect if is_form and (shape.form or shape.query) else 0
