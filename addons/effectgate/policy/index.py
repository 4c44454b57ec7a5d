"""The index of shapes: host labels from the right, then method, then path segments; the cost does not grow with the catalogue.

It finds every shape that could match on some reading, letters folded; `recognition` then asks each exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from effectgate.policy.effect import Effect, Shape
from effectgate.policy.host import ABSENT, STAR
from effectgate.policy.reading import Edge, Readings
from effectgate.policy.segment import Segment

ANY_METHOD = ""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One shape of one effect. `rank` orders by specificity, most specific first, then least risk, then id.

    `discriminating`: it has discriminators; `reads_documents`: json or graphql among them; `conditional`: it has conditions on the
    header or the query.
    """

    effect: Effect
    shape: Shape
    specificity: tuple[object, ...]
    rank: tuple[object, ...]
    discriminating: bool
    reads_documents: bool
    conditional: bool


def entry_of(effect: Effect, shape: Shape) -> Entry:
    """The entry with its rank (design.md section 2, rule 3)."""
    carriers = (shape.query, shape.headers, shape.form, shape.json)
    exact = sum("*" not in p.text for patterns in carriers for wanted in patterns.values() for p in wanted)
    if shape.graphql is not None:
        exact += 1 + any(not pattern.wild for pattern in shape.graphql.fields)
    path = () if shape.vouch else shape.path.rank()[:-1]
    specificity = ((*path, ABSENT), shape.host.rank(), -exact)
    documents = bool(shape.json) or shape.graphql is not None
    discriminating = documents or bool(shape.query or shape.headers or shape.form)
    conditional = bool(shape.absent) or shape.query_only is not None
    rank = (*specificity, effect.risk, effect.id)
    return Entry(effect, shape, specificity, rank, discriminating, documents, conditional)


@dataclass(slots=True, eq=False)
class Prefixed[T]:
    """Things filed under a prefix of a segment; looking them up costs as many look-ups as there are lengths of prefix."""

    by_prefix: dict[str, list[T]] = field(default_factory=dict)
    lengths: tuple[int, ...] = ()

    def add(self, prefix: str, thing: T) -> None:
        """File one thing."""
        self.by_prefix.setdefault(prefix, []).append(thing)
        self.lengths = tuple(sorted({*self.lengths, len(prefix)}))

    def find(self, text: str) -> list[T]:
        """Everything whose prefix the text begins with."""
        if self.lengths == (0,):
            return self.by_prefix[""]
        found = (self.by_prefix.get(text[:length], ()) for length in self.lengths if length <= len(text))
        return [thing for things in found for thing in things]


@dataclass(slots=True, eq=False)
class PathNode:
    """A place in a path. Texts are case-folded; `holes` are `{name}` segments with their affixes, `tails` a last `*`."""

    literals: dict[str, PathNode] = field(default_factory=dict)
    holes: Prefixed[tuple[Segment, PathNode]] = field(default_factory=Prefixed)
    tails: Prefixed[Entry] = field(default_factory=Prefixed)
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
            node.tails.add(path.tail.casefold(), entry)

    def _child(self, segment: Segment) -> PathNode:
        if segment.literal:
            return self.literals.setdefault(segment.prefix, PathNode())
        for known, child in self.holes.by_prefix.get(segment.prefix, ()):
            if known.suffix == segment.suffix:
                return child
        child = PathNode()
        self.holes.add(segment.prefix, (segment, child))
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
            if node.tails.lengths:
                out.extend(node.tails.find(text))
            at += 1
            if node.holes.lengths:
                for segment, child in node.holes.find(text):
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
            for settled in readings.settled[at]:
                if settled == len(readings.edges):
                    out.update(dict.fromkeys(node.ends))
                else:
                    todo.extend(node._moves(readings.edges[settled], out))
        return list(out)

    def _moves(self, edges: tuple[Edge, ...], out: dict[Entry, None]) -> Iterator[tuple[PathNode, int]]:
        for _, text, after in edges:
            if (child := self.literals.get(text)) is not None:
                yield child, after
            if self.tails.lengths:
                out.update(dict.fromkeys(self.tails.find(text)))
            if self.holes.lengths:
                for segment, child in self.holes.find(text):
                    if segment.value(text) is not None:
                        yield child, after

    def entries(self) -> Iterator[Entry]:
        """Every entry at or below this place."""
        yield from (*self.ends, *self.globs)
        for tails in self.tails.by_prefix.values():
            yield from tails
        for child in (*self.literals.values(), *(c for holes in self.holes.by_prefix.values() for _, c in holes)):
            yield from child.entries()


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

    def find(self, labels: tuple[str, ...]) -> list[HostNode]:
        """Nodes at which some pattern for this host ends: each pair of a node and a number of labels left is visited once."""
        out: dict[HostNode, None] = {}
        seen: set[tuple[HostNode, int]] = set()
        todo = [(self, len(labels))]
        while todo:
            node, left = place = todo.pop()
            if place in seen:
                continue
            seen.add(place)
            if left == 0:
                out.update({node: None} if node.methods else {})
            else:
                todo.extend(node._moves(labels, left))
        return list(out)

    def _moves(self, labels: tuple[str, ...], left: int) -> Iterator[tuple[HostNode, int]]:
        if (child := self.labels.get(labels[left - 1])) is not None:
            yield child, left - 1
        if self.one is not None:
            yield self.one, left - 1
        if self.many is not None:
            yield from ((self.many, fewer) for fewer in range(left))
