"""Containment of shapes: the sets of requests that two shapes match, compared exactly (design.md section 2, rule 2).

The sets are of method, scheme, port, host, path and discriminators; `query_only`, `absent`, `body` and `encoded_slash` are no part.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from effectgate.policy.effect import Patterns, Shape
from effectgate.policy.value import ValuePattern


@functools.lru_cache(maxsize=1 << 16)
def contained(part: Shape, whole: Shape) -> bool:
    """Whether every request that `part` matches is matched by `whole`."""
    return (
        part.scheme == whole.scheme
        and part.ports <= whole.ports
        and _methods_within(part, whole)
        and part.path.included(whole.path)
        and part.host.included(whole.host)
        and all(
            _patterns_within(mine, its, part.fold, whole.fold)
            for mine, its in zip(carriers(part), carriers(whole), strict=True)
        )
        and _graphql_within(part, whole)
    )


def strictly_contained(part: Shape, whole: Shape) -> bool:
    """Contained, and not the same set."""
    return contained(part, whole) and not contained(whole, part)


def overlaps(one: Shape, two: Shape) -> bool:
    """Whether some request could match both; discriminators of one name overlap where their patterns do."""
    return (
        one.scheme == two.scheme
        and bool(one.ports & two.ports)
        and (not one.methods or not two.methods or bool(one.methods & two.methods))
        and one.host.intersects(two.host)
        and one.path.intersects(two.path)
        and all(
            _patterns_meet(mine, its, one.fold, two.fold)
            for mine, its in zip(carriers(one), carriers(two), strict=True)
        )
        and _graphql_meets(one, two)
    )


def _methods_within(part: Shape, whole: Shape) -> bool:
    return not whole.methods or (bool(part.methods) and part.methods <= whole.methods)


def carriers(shape: Shape) -> tuple[Patterns, ...]:
    """The tables of names and values that it asks for: query, headers, form, json."""
    return shape.query, shape.headers, shape.form, shape.json


def _patterns_within(mine: Patterns, its: Patterns, fold: bool, whole_fold: bool) -> bool:
    if its and fold and not whole_fold:
        return False  # some spelling of a name is ours and not the other's
    return all(
        name in mine and all(p.included(wanted, fold, whole_fold) for p in mine[name]) for name, wanted in its.items()
    )


def _patterns_meet(mine: Patterns, its: Patterns, fold: bool, other_fold: bool) -> bool:
    return all(_meet(mine[name], its[name], fold, other_fold) for name in mine.keys() & its.keys())


def _meet(mine: Sequence[ValuePattern], its: Sequence[ValuePattern], fold: bool, other_fold: bool) -> bool:
    return any(a.intersects(b, fold or other_fold) for a in mine for b in its)


def _graphql_within(part: Shape, whole: Shape) -> bool:
    mine, its = part.graphql, whole.graphql
    if its is None or mine is None:
        return its is None
    if mine.operation != its.operation or (part.fold and not whole.fold):
        return False
    within = bool(mine.fields) and all(field.included(its.fields, part.fold, whole.fold) for field in mine.fields)
    return not its.fields or within


def _graphql_meets(one: Shape, two: Shape) -> bool:
    mine, its = one.graphql, two.graphql
    if mine is None or its is None:
        return True
    fields = not mine.fields or not its.fields or _meet(mine.fields, its.fields, one.fold, two.fold)
    return mine.operation == its.operation and fields
