"""The index of shapes: host labels from the right, then method, then path segments; the cost does not grow with the catalogue.

It finds every shape that could match on some reading, letters folded; `recognition` then asks each exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from effectgate.policy.discriminator import tables, values
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.facts import RequestFacts
from effectgate.policy.host import ABSENT, STAR, HostPattern
from effectgate.policy.reading import Edge
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
class Ends:
    """Entries whose path ends here. Those that want literal values of a discriminator are filed under them, letters folded:
    the services of AWS have hundreds of actions at one path.
    """

    plain: list[Entry] = field(default_factory=list)
    keyed: dict[tuple[str, str], dict[str, list[Entry]]] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """File one entry."""
        carrier, name, wanted = _key(entry.shape)
        if not wanted:
            self.plain.append(entry)
            return
        filed = self.keyed.setdefault((carrier, name), {})
        for value in wanted:
            filed.setdefault(value, []).append(entry)

    def find(self, facts: RequestFacts, out: list[Entry]) -> None:
        """Every entry that the request's values do not rule out on all readings."""
        out.extend(self.plain)
        for (carrier, name), filed in self.keyed.items():
            found = values(name, *tables(carrier, facts), True)
            if found is None:
                out.extend(dict.fromkeys(entry for entries in filed.values() for entry in entries))
            elif found:
                out.extend(filed.get(next(iter(found)).casefold(), ()))

    def entries(self) -> Iterator[Entry]:
        """Every entry."""
        yield from self.plain
        for filed in self.keyed.values():
            yield from dict.fromkeys(entry for entries in filed.values() for entry in entries)


def _key(shape: Shape) -> tuple[str, str, frozenset[str]]:
    """Carrier and name of the first discriminator that wants literal values only, and those values folded; empty where none does."""
    for carrier, patterns in (("headers", shape.headers), ("query", shape.query), ("form", shape.form)):
        for name, wanted in patterns.items():
            if not any(pattern.wild for pattern in wanted):
                return carrier, name, frozenset(pattern.text.casefold() for pattern in wanted)
    return "", "", frozenset()


@dataclass(slots=True, eq=False)
class PathNode:
    """A place in a path. Texts are case-folded; `holes` are `{name}` segments with their affixes, `tails` a last `*`."""

    literals: dict[str, PathNode] = field(default_factory=dict)
    holes: Prefixed[tuple[Segment, PathNode]] = field(default_factory=Prefixed)
    tails: Prefixed[Entry] = field(default_factory=Prefixed)
    ends: Ends = field(default_factory=Ends)
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
            node = node._child(segment)
        if path.tail is None:
            node.ends.add(entry)
        else:
            node.tails.add(path.tail.casefold(), entry)

    def _child(self, segment: Segment) -> PathNode:
        if segment.literal:
            text = segment.prefix.casefold()
            if (node := self.literals.get(text)) is None:
                node = self.literals[text] = PathNode()
            return node
        segment = segment.folded()
        for known, child in self.holes.by_prefix.get(segment.prefix, ()):
            if known.suffix == segment.suffix:
                return child
        child = PathNode()
        self.holes.add(segment.prefix, (segment, child))
        return child

    def find(self, facts: RequestFacts, at: int, out: list[Entry]) -> None:
        """Entries along the case-folded segments, from place `at`, of a request that has one reading only."""
        segments = facts.readings.folded
        node: PathNode | None = self
        while node is not None:
            if node.globs:
                out.extend(node.globs)
            if at == len(segments):
                node.ends.find(facts, out)
                return
            text = segments[at]
            if node.tails.lengths:
                out.extend(node.tails.find(text))
            at += 1
            if node.holes.lengths:
                for segment, child in node.holes.find(text):
                    if not (segment.prefix or segment.suffix) or segment.value(text) is not None:
                        child.find(facts, at, out)
            node = node.literals.get(text)

    def find_readings(self, facts: RequestFacts) -> list[Entry]:
        """Entries along any reading: each pair of a node and a position is visited once."""
        readings = facts.readings
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
                    ends: list[Entry] = []
                    node.ends.find(facts, ends)
                    out.update(dict.fromkeys(ends))
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
        yield from self.ends.entries()
        yield from self.globs
        for tails in self.tails.by_prefix.values():
            yield from tails
        for child in (*self.literals.values(), *(c for holes in self.holes.by_prefix.values() for _, c in holes)):
            yield from child.entries()


Recognisers = Callable[[Effect], Sequence[Shape]]


@dataclass(slots=True, eq=False)
class HostNode:
    """A place in a host, labels from the right. `one` stands for `{name}`, `many` for `*`.

    `waiting` are effects with a shape whose host ends here: they are filed when the first request comes, so that a catalogue of
    50,000 shapes costs what its hosts are asked for.
    """

    labels: dict[str, HostNode] = field(default_factory=dict)
    one: HostNode | None = None
    many: HostNode | None = None
    methods: dict[str, PathNode] = field(default_factory=dict)
    waiting: list[tuple[Effect, HostPattern]] = field(default_factory=list)

    def add(self, effect: Effect, host: HostPattern) -> None:
        """Put an effect where one of its hosts leads."""
        node = self
        for label, name in zip(reversed(host.labels), reversed(host.names), strict=True):
            node = node._child(label, bool(name))
        node.waiting.append((effect, host))

    def file(self, recognisers: Recognisers) -> None:
        """File the shapes of the effects that wait here, under each of their methods."""
        waiting, self.waiting = self.waiting, []
        for effect, host in waiting:
            for shape in recognisers(effect):
                if shape.host == host:
                    self._file(entry_of(effect, shape))

    def _file(self, entry: Entry) -> None:
        for method in entry.shape.methods or (ANY_METHOD,):
            self.methods.setdefault(method, PathNode()).add(entry)

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
                out.update({node: None} if node.methods or node.waiting else {})
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
