"""Which operations make one effect: those of one service and one access whose things are kin, as many as a title can name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from effectgate.importers.operation import Access, Operation, Service

# How many of the vendor's operations one effect holds if it can be helped, and how many at most (issue 4: median 12, at most 60).
COMFORTABLE, MOST = 20, 60
# How many things a title names.
NAMED = 4
# A service with so few operations of one access needs no names: a person grants them together.
SMALL = 40
_WHOLE = frozenset({Access.READ, Access.WRITE, Access.DELETE, Access.PERMISSION, Access.PROBE})

Thing = tuple[str, ...]
Fits = Callable[["Group"], bool]


@dataclass(frozen=True, slots=True)
class Group:
    """Operations that become one effect, and the things that its title names, in order; none where it is all of them in the service."""

    service: Service
    access: Access
    things: tuple[Thing, ...]
    operations: tuple[Operation, ...]

    @property
    def rows(self) -> int:
        """How many of the vendor's operations it stands for."""
        return sum(operation.rows for operation in self.operations)

    def __add__(self, other: Group) -> Group:
        things = tuple(dict.fromkeys((*self.things, *other.things)))
        return Group(self.service, self.access, things, (*self.operations, *other.operations))


@dataclass(slots=True)
class _Kin:
    """The things that begin with the same words."""

    own: list[Operation] = field(default_factory=list)
    children: dict[str, _Kin] = field(default_factory=dict)

    def all(self) -> Iterator[Operation]:
        yield from self.own
        for child in self.children.values():
            yield from child.all()


def grouped(operations: Sequence[Operation], fits: Fits) -> Iterator[Group]:
    """The groups of all operations. `fits`: whether a group's title can name all its things."""
    sections: dict[tuple[Service, Access], list[Operation]] = {}
    for operation in operations:
        sections.setdefault((operation.service, operation.access), []).append(operation)
    known: dict[Service, set[Thing]] = {}
    for operation in operations:
        known.setdefault(operation.service, set()).add(operation.thing)
    for (service, access), members in sections.items():
        families = (
            Group(service, access, (thing,), kin) for thing, kin in _families(_tree(members), (), known[service])
        )
        groups = list(_packed([portion for family in families for portion in _portions(family, fits)], fits))
        whole = Group(service, access, (), tuple(members))
        yield from [whole] if len(groups) > 1 and whole.rows <= SMALL and access in _WHOLE else groups


def _tree(operations: Sequence[Operation]) -> _Kin:
    root = _Kin()
    for operation in sorted(operations, key=lambda one: (one.thing, one.name)):
        node = root
        for word in operation.thing:
            node = node.children.setdefault(word, _Kin())
        node.own.append(operation)
    return root


def _families(node: _Kin, prefix: Thing, known: set[Thing]) -> Iterator[tuple[Thing, tuple[Operation, ...]]]:
    """Kin under the name of their common prefix, where that is itself a thing of the service and they are few enough."""
    members = tuple(node.all())
    if prefix and prefix in known and sum(member.rows for member in members) <= COMFORTABLE:
        yield prefix, members
        return
    if node.own:
        yield prefix, tuple(node.own)
    for word, child in node.children.items():
        yield from _families(child, (*prefix, word), known)


def _portions(family: Group, fits: Fits) -> Iterator[Group]:
    """The family whole; in portions of fewer verbs where it is too large for one effect or its title cannot tell its verbs."""
    if fits(family) and family.rows <= MOST:
        yield family
        return
    portion: Group | None = None
    for operation in sorted(family.operations, key=lambda one: (one.verb, one.name)):
        lone = replace(family, operations=(operation,))
        together = portion + lone if portion else lone
        if portion and (together.rows > MOST or not fits(together)):
            yield portion
            portion = lone
        else:
            portion = together
    if portion:
        yield portion


def _packed(families: Sequence[Group], fits: Fits) -> Iterator[Group]:
    """Families side by side in one group while it stays comfortable and its title can name them."""
    current: Group | None = None
    for family in families:
        together = current + family if current else family
        if current and (together.rows > COMFORTABLE or len(together.things) > NAMED or not fits(together)):
            yield current
            current = family
        else:
            current = together
    if current:
        yield current
