"""Which shapes can match one request at all: found through trees of their hosts and paths, so that not every pair is asked.

The trees let through more than what meets (affixes, methods and discriminators are no part of them), and never less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.fault import Fault
from effectgate.policy.host import STAR, HostPattern
from effectgate.policy.pack import Pack
from effectgate.policy.path import PathPattern

# Symbols of a word that no label and no segment can be: any one symbol; any run of them.
ONE, REST = "{}", "*"
Word = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A shape with its effect and the pack they stand in."""

    pack: Pack
    effect: Effect
    shape: Shape

    def fault(self, message: str, fix: str, hazard: str = "") -> Fault:
        """A fault, or a hazard of that kind, at this shape."""
        return self.pack.document.fault(self.pack.shape_path(self.effect, self.shape), message, fix, hazard)


def placed(packs: Iterable[Pack], catalog: Catalog) -> list[Placed]:
    """Every shape of the packs, vouches among them."""
    return [Placed(p, e, s) for p in packs for e in p.effects for s in e.shapes or catalog.shapes(e.id)]


def neighbours(rows: Iterable[Placed]) -> Iterator[tuple[Placed, Placed]]:
    """Each pair whose hosts have a host in common and whose paths may have a path in common, once."""
    by_host: dict[HostPattern, list[Placed]] = {}
    for row in rows:
        by_host.setdefault(row.shape.host, []).append(row)
    filed: Neighbourhood[Placed] = Neighbourhood()
    for host, here in by_host.items():
        around = filed.around(host)
        for row in here:
            word = path_word(row.shape.path)
            yield from ((found, row) for tree in around for found in tree.meeting(word))
        for row in here:
            word = path_word(row.shape.path)
            yield from ((found, row) for found in filed.at(host).meeting(word))
            filed.at(host).add(word, row)


class Neighbourhood[T]:
    """Things filed under shapes, found by the shapes that they may share a request with."""

    def __init__(self) -> None:
        self._hosts: Tree[HostPattern] = Tree()
        self._paths: dict[HostPattern, Tree[T]] = {}

    def add(self, shape: Shape, thing: T) -> None:
        """File one thing."""
        self.at(shape.host).add(path_word(shape.path), thing)

    def at(self, host: HostPattern) -> Tree[T]:
        """The paths of one host."""
        if host not in self._paths:
            self._hosts.add(host_word(host), host)
            self._paths[host] = Tree()
        return self._paths[host]

    def around(self, host: HostPattern) -> list[Tree[T]]:
        """The paths of every host that has a host in common with this one."""
        return [self._paths[other] for other in self._hosts.meeting(host_word(host)) if host.intersects(other)]

    def meeting(self, shape: Shape) -> Iterator[T]:
        """Everything that a request of the shape may also be."""
        word = path_word(shape.path)
        yield from (found for tree in self.around(shape.host) for found in tree.meeting(word))


def host_word(host: HostPattern) -> Word:
    """The labels from the right, up to a `*`."""
    out: list[str] = []
    for label, name in zip(reversed(host.labels), reversed(host.names), strict=True):
        if label == STAR:
            return (*out, REST)
        out.append(ONE if name else label)
    return tuple(out)


def path_word(path: PathPattern) -> Word:
    """The segments, letters folded, up to a `*`."""
    if path.glob is not None:
        return (*path.glob[0].casefold()[1:].split("/")[:-1], REST)
    word = tuple(s.prefix.casefold() if s.literal else ONE for s in path.segments)
    return word if path.tail is None else (*word, REST)


@dataclass(slots=True, eq=False)
class Tree[T]:
    """Things filed under words, found by the words that may be among theirs."""

    children: dict[str, Tree[T]] = field(default_factory=dict)
    ends: list[T] = field(default_factory=list)
    rest: list[T] = field(default_factory=list)

    def add(self, word: Word, thing: T) -> None:
        """File one thing."""
        node = self
        for symbol in word:
            if symbol == REST:
                node.rest.append(thing)
                return
            node = node.children.setdefault(symbol, Tree())
        node.ends.append(thing)

    def meeting(self, word: Word) -> Iterator[T]:
        """Everything under a word that may have something in common with this one, once."""
        todo: list[tuple[Tree[T], int]] = [(self, 0)]
        while todo:
            node, at = todo.pop()
            if at < len(word) and word[at] == REST:
                yield from node.below()
                continue
            yield from node.rest
            if at == len(word):
                yield from node.ends
            else:
                todo += ((child, at + 1) for child in node._moves(word[at]))

    def _moves(self, symbol: str) -> Iterable[Tree[T]]:
        if symbol == ONE:
            return self.children.values()
        return [child for key in (symbol, ONE) if (child := self.children.get(key))]

    def below(self) -> Iterator[T]:
        """Everything here and below."""
        yield from self.rest
        yield from self.ends
        for child in self.children.values():
            yield from child.below()
