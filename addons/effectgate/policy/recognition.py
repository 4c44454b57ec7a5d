"""Which effects name a request, and which merely could on some reading (design.md section 2, rules 1 and 2)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from effectgate.policy.catalog import Catalog
from effectgate.policy.discriminator import Truth, conditions_hold, evaluate
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.facts import RequestFacts
from effectgate.policy.index import Entry
from effectgate.policy.reading import MAX_BINDINGS

Parameters = Mapping[str, str]


@dataclass(
    slots=True, eq=False
)  # not frozen: one is made for every candidate of every request, and frozen ones cost three times that
class Match:
    """One shape that matches the request on some reading.

    `named`: true on the plain reading with its conditions, and then `bound` holds the parameters. `plain`: its path matches the
    plain reading. `sure`: its discriminators are true, not just unreadable or true with letters folded.
    """

    entry: Entry
    facts: RequestFacts
    named: bool
    plain: bool
    sure: bool
    conditions: bool
    bound: Parameters

    @property
    def effect(self) -> Effect:
        """The effect that the shape belongs to."""
        return self.entry.effect

    @property
    def shape(self) -> Shape:
        """The shape that matches."""
        return self.entry.shape

    def bindings(self) -> list[Parameters] | None:
        """What the shape binds on each reading; None where the readings bind too many values to hold (then no scope covers it)."""
        if self.named and self.facts.readings.linear:
            return [self.bound]
        paths = self.facts.readings.bindings(self.shape.path)
        if paths is None:
            return None
        host = self.shape.host.match(self.facts.host) or {}
        _, _, values = evaluate(self.shape, self.facts)
        return [{**host, **values, **dict(path)} for path in itertools.islice(sorted(paths), MAX_BINDINGS)]


def recognise(catalog: Catalog, facts: RequestFacts) -> list[Match]:
    """Every match, in the order of the index."""
    return list(_matches(catalog, facts))


def _matches(catalog: Catalog, facts: RequestFacts) -> Iterator[Match]:
    for entry in catalog.candidates(facts):
        shape = entry.shape
        if shape.scheme != facts.scheme or facts.port not in shape.ports:
            continue
        path = shape.path.bind(facts.segments, shape.path.fold)
        if path is None and not facts.readings.matches(shape.path):
            continue
        truth, possible, values = evaluate(shape, facts)
        if possible is Truth.FALSE:
            continue
        conditions = conditions_hold(shape, facts)
        named = path is not None and truth is Truth.TRUE and conditions
        bound: Parameters = path or {}
        if named and (values or shape.host.parameters):
            bound = {**(shape.host.match(facts.host) or {}), **values, **bound}
        yield Match(entry, facts, named, path is not None, truth is Truth.TRUE, conditions, bound)
