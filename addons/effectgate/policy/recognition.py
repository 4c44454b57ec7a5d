"""Which effects name a request, and which merely could on some reading (design.md section 2, rules 1 and 2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from effectgate.policy import binding
from effectgate.policy.discriminator import NOTHING, Truth, conditions_hold, evaluate
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.facts import RequestFacts
from effectgate.policy.index import Entry

Parameters = Mapping[str, str]


@dataclass(
    slots=True, eq=False
)  # not frozen: one is made for every candidate of every request, and frozen ones cost three times that
class Match:
    """One shape that matches the request on some reading.

    `named`: true on the plain reading with its conditions. `plain`: its path matches the plain reading. `sure`: its discriminators are
    true in the letters that the request has and with letters folded. `conditions`: it holds those conditions that no reading asks.
    `bound`: what it binds on the plain reading.
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

    @property
    def settled(self) -> bool:
        """Whether it binds the same on every reading: `bound`."""
        return self.named and self.sure and self.facts.readings.linear

    def values(self) -> Mapping[str, Collection[str]]:
        """Each parameter's values over all readings, for those parameters that every reading binds."""
        if self.settled:
            return {name: (value,) for name, value in self.bound.items()}
        fixed = [self._host(), *self._discriminators()]
        names = set.intersection(*(set(bound) for bound in self._discriminators())) | set(self._host())
        out: dict[str, set[str]] = {name: {bound[name] for bound in fixed if name in bound} for name in names}
        return {**out, **binding.values(self.facts.readings, self.shape.path)}

    def combinations(self) -> list[Parameters] | None:
        """The values that parameters take together, one set for each reading; None where they are too many to hold."""
        if self.settled:
            return [self.bound]
        paths = binding.combinations(self.facts.readings, self.shape.path)
        if paths is None:
            return None
        return [{**self._host(), **bound, **dict(path)} for bound in self._discriminators() for path in paths]

    def _host(self) -> Parameters:
        return self.shape.host.match(self.facts.host) or {}

    def _discriminators(self) -> list[Parameters]:
        """What they bind with letters folded, and in the letters that the request has; an unreadable one binds nothing."""
        truth, bound = evaluate(self.shape, self.facts, False)
        folded = evaluate(self.shape, self.facts, True)[1]
        return [folded] if truth is not Truth.TRUE or bound == folded else [folded, bound]


def recognise(candidates: Sequence[Entry], facts: RequestFacts) -> list[Match]:
    """Every match among the candidates of a request, in the order of the index."""
    quiet = not (facts.body.present or facts.websocket or facts.encoded_slash)
    found = [
        _match(entry, facts, quiet)
        for entry in candidates
        if facts.port in entry.shape.ports and facts.scheme == entry.shape.scheme
    ]
    return [match for match in found if match is not None]


def _match(entry: Entry, facts: RequestFacts, quiet: bool) -> Match | None:
    """`quiet`: the request has nothing that a condition could be about, but for headers and query."""
    shape, pattern = entry.shape, entry.shape.path
    if pattern.glob is not None and facts.readings.rule_out(pattern):
        return None
    path = pattern.bind(facts.segments, pattern.fold)
    if path is None and not facts.readings.matches(pattern):
        return None
    truth = folded = Truth.TRUE
    bound: Parameters = path or NOTHING
    if entry.discriminating:
        folded, _ = evaluate(shape, facts, True)
        if folded is Truth.FALSE:
            return None
        truth, values = evaluate(shape, facts, False)
        bound = {**values, **bound}
    conditions = (quiet and not entry.conditional) or conditions_hold(shape, facts)
    if shape.host.parameters:
        bound = {**(shape.host.match(facts.host) or {}), **bound}
    named = path is not None and truth is Truth.TRUE and conditions
    sure = truth is Truth.TRUE and folded is Truth.TRUE
    return Match(entry, facts, named, path is not None, sure, conditions, bound)
