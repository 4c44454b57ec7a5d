"""Effects as they will be written: an id, a title, a grade, and the shapes of a group's operations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from effectgate.importers.grouping import Group, grouped
from effectgate.importers.operation import GRADES, Access, Call, Carrier, Grade, Operation, told_apart
from effectgate.importers.titles import fits, title_of, verbs_of
from effectgate.importers.words import phrase
from effectgate.policy.words import TITLE_LENGTH

Key = tuple[str, str, Carrier, str, tuple[tuple[str, str], ...], tuple[str, ...], bool]


@dataclass(frozen=True, slots=True)
class DraftShape:
    """One row of `matches.http`: calls that differ by method, or by the value of one discriminator."""

    call: Call
    methods: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DraftEffect:
    """One `[[effect]]`."""

    id: str
    title: str
    grade: Grade
    group: Group
    shapes: tuple[DraftShape, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of its shapes."""
        return tuple(dict.fromkeys(shape.call.host for shape in self.shapes))


@dataclass(frozen=True, slots=True)
class Taken:
    """The ids and titles (folded) that are no longer free."""

    ids: set[str]
    titles: set[str]


def draft_effects(operations: Sequence[Operation], taken: Taken, *, several_services: bool) -> list[DraftEffect]:
    """Effects for all operations, ids and titles unique; with several services in the pack, ids begin with the service's key."""
    out = []
    for group in grouped(list(told_apart(operations)), fits):
        name = _free(_id(group, several_services), taken.ids, "-{}")
        title = _free(title_of(group)[:TITLE_LENGTH].rstrip(), taken.titles, " ({})")
        out.append(DraftEffect(name, title, GRADES[group.access], group, tuple(_shapes(group))))
    return out


def _id(group: Group, several_services: bool) -> str:
    deed = {Access.READ: "read", Access.SECRET: "reveal", Access.CREDENTIAL: "obtain", Access.PERMISSION: "share"}
    things = phrase(group.things[0] or ("data",)) if group.things else "all"
    words = f"{deed.get(group.access) or verbs_of(group)[0]} {things}"
    text = f"{group.service.key} {words}" if several_services else words
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _free(text: str, taken: set[str], suffix: str) -> str:
    """The text, or with a number where it is taken."""
    number, free = 1, text
    while free.casefold() in taken:
        number += 1
        ending = suffix.format(number)
        free = text[: TITLE_LENGTH - len(ending)].rstrip() + ending
    taken.add(free.casefold())
    return free


def _shapes(group: Group) -> Iterator[DraftShape]:
    """Calls to one path become one shape; GET brings HEAD, which asks the same without the body."""
    rows: dict[tuple[Key, str], dict[str, None]] = {}
    methods: dict[Key, dict[str, None]] = {}
    first: dict[Key, Call] = {}
    for operation in group.operations:
        for call in operation.calls:
            key = (call.host, call.path, call.carrier, call.name, call.query, call.absent, call.encoded_slash)
            first.setdefault(key, call)
            methods.setdefault(key, {})[call.method] = None
            rows.setdefault((key, call.method), {})[call.value] = None
    for key, call in first.items():
        sets = dict.fromkeys(tuple(rows[key, method]) for method in methods[key])
        for values in sets:
            same = [method for method in methods[key] if tuple(rows[key, method]) == values]
            yield DraftShape(call, tuple(_with_head(same, call)), values if call.carrier else ())


def _with_head(methods: list[str], call: Call) -> list[str]:
    bare = call.carrier is Carrier.PATH and "GET" in methods and "HEAD" not in methods
    return [*methods, "HEAD"] if bare else methods
