"""The index of shapes: host labels from the right, then method, then path segments; the cost does not grow with the catalogue.

It finds every shape that could match on some reading, letters folded; `recognition` then asks each exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from effectgate.policy.effect import Effect, Shape
from effectgate.policy.host import STAR
from effectgate.policy.path import Segment
from effectgate.policy.reading import Readings

ANY_METHOD = ""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One shape of one effect. `rank` orders by specificity, most specific first, then least risk, then id."""

    effect: Effect
    shape: Shape
    rank: tuple[object, ...]


def entry_of(effect: Effect, shape: Shape) -> Entry:
    """The entry with its rank (design.md section 2, rule 3)."""
    carriers = (shape.query, shape.headers, shape.form, shape.json)
    exact = sum(not p.wild for patterns in carriers for wanted in patterns.values() for p in wanted)
    path = () if shape.vouch else shape.path.rank()[:-1]
    return Entry(effect, shape, ((*path, 4), shape.host.rank(), -exact, effect.risk, effect.id))


@dataclass(slots=True, eq=False)
class PathNode:
    """A place in a path. Literal texts are case-folded; `holes` are `{name}` segments with their affixes."""

    literals: dict[str, PathNode] = field(default_factory=dict)
    holes: list[tuple[Segment, PathNode]] = field(default_factory=list)
    tails: list[tuple[str, Entry]] = field(default_factory=list)
    ends: list[Entry] = field(default_factory=list)
    globs: list[Entry] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """Put a shape where its path leads."""
        node, path = self, entry.shape.path
        if path.glob is not None:
            for text in path.glob[0][1:].split("/")[:-1]:
                node = node.literals.setdefault(text.casefold(), PathNode())
            node.globs.append(entry)
            return
        for segment in path.segments:
            node = node._child(segment.folded())
        if path.tail is None:
            node.ends.append(entry)
        else:
            node.tails.append((path.tail.casefold(), entry))

    def _child(self, segment: Segment) -> PathNode:
        if segment.literal:
            return self.literals.setdefault(segment.prefix, PathNode())
        for known, child in self.holes:
            if (known.prefix, known.suffix) == (segment.prefix, segment.suffix):
                return child
        child = PathNode()
        self.holes.append((segment, child))
        return child

    def find(self, segments: tuple[str, ...], at: int, out: list[Entry]) -> None:
        """Entries along case-folded segments that have one reading only."""
        node: PathNode | None = self
        while node is not None:
            if node.globs:
                out.extend(node.globs)
            if at == len(segments):
                out.extend(node.ends)
                return
            text = segments[at]
            for tail, entry in node.tails:
                if text.startswith(tail):
                    out.append(entry)
            at += 1
            for segment, child in node.holes:
                if not (segment.prefix or segment.suffix) or segment.value(text) is not None:
                    child.find(segments, at, out)
            node = node.literals.get(text)

    def find_readings(self, readings: Readings) -> list[Entry]:
        """Entries along any reading: each pair of a node and a position is visited once."""
        out: dict[Entry, None] = {}
        seen: set[tuple[PathNode, int]] = set()
        todo: list[tuple[PathNode, int]] = [(self, 0)]
        while todo:
            place = todo.pop()
            if place in seen:
                continue
            seen.add(place)
            node, at = place
            out.update(dict.fromkeys(node.globs))
            if at == len(readings.edges):
                out.update(dict.fromkeys(node.ends))
            else:
                todo.extend(node._moves(readings.edges[at], at, out))
        return list(out)

    def _moves(
        self, edges: tuple[tuple[str, int], ...], at: int, out: dict[Entry, None]
    ) -> Iterator[tuple[PathNode, int]]:
        for label, after in edges:
            folded = label.casefold()
            for text in _cuts(folded):
                if not text:
                    yield self, after
                if (child := self.literals.get(text)) is not None:
                    yield child, after
            for tail, entry in self.tails:
                if folded.startswith(tail):
                    out[entry] = None
            for segment, child in self.holes:
                if any(segment.value(text) is not None for text in _cuts(folded)):
                    yield child, after


def _cuts(text: str) -> Iterator[str]:
    yield text
    at = text.find(";")
    while at >= 0:
        yield text[:at]
        at = text.find(";", at + 1)


@dataclass(slots=True, eq=False)
class HostNode:
    """A place in a host, labels from the right. `one` stands for `{name}`, `many` for `*`; `methods` where a pattern ends."""

    labels: dict[str, HostNode] = field(default_factory=dict)
    one: HostNode | None = None
    many: HostNode | None = None
    methods: dict[str, PathNode] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Put a shape where its host leads, under each of its methods."""
        host, node = entry.shape.host, self
        for label, name in zip(reversed(host.labels), reversed(host.names), strict=True):
            node = node._child(label, bool(name))
        for method in entry.shape.methods or (ANY_METHOD,):
            node.methods.setdefault(method, PathNode()).add(entry)

    def _child(self, label: str, parameter: bool) -> HostNode:
        if parameter:
            self.one = self.one or HostNode()
            return self.one
        if label == STAR:
            self.many = self.many or HostNode()
            return self.many
        return self.labels.setdefault(label, HostNode())

    def find(self, labels: tuple[str, ...], at: int, out: dict[HostNode, None]) -> None:
        """Nodes at which some pattern for this host ends; `at` counts the labels still to take."""
        if at == 0:
            if self.methods:
                out[self] = None
            return
        if (child := self.labels.get(labels[at - 1])) is not None:
            child.find(labels, at - 1, out)
        if self.one is not None:
            self.one.find(labels, at - 1, out)
        if self.many is not None:
            for left in range(at):
                self.many.find(labels, left, out)
