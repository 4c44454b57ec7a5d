"""The readings of a path: what some server may take it for (design.md section 2, Recognition, rule 2).

Empty segments, a trailing slash and `;parameters` may be removed, `%2F` may be a slash, letters may be folded, at each place by
itself. The readings are the walks through a graph of positions, never listed: a pattern is matched over all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from effectgate.policy import language
from effectgate.policy.language import States
from effectgate.policy.path import PathPattern, Segment

ENCODED_SLASH = "%2F"
# Bindings of one pattern kept over all readings; beyond it a scope counts as not covered (fail closed).
MAX_BINDINGS = 64
# States of the product walked by `escapes`; beyond it the request counts as escaping (fail closed).
MAX_PRODUCT = 20_000

Bindings = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Readings:
    """`edges[i]` lists (segment text, next position); the last position is the end. Where only letters can fold (`linear`),
    `folded` is the one reading beside `plain`, and there are no edges."""

    plain: tuple[str, ...]
    folded: tuple[str, ...]
    edges: tuple[tuple[tuple[str, int], ...], ...]
    linear: bool

    @classmethod
    def of(cls, segments: tuple[str, ...]) -> Readings:
        """The readings of decoded segments (`%2F` kept in them)."""
        folded = tuple(map(str.casefold, segments))
        if "" not in segments and not any(";" in text or ENCODED_SLASH in text for text in segments):
            return cls(segments, folded, (), True)
        edges: list[tuple[tuple[str, int], ...]] = []
        for segment in segments:
            pieces = segment.split(ENCODED_SLASH)
            first, last = len(edges), len(edges) + len(pieces)
            edges.extend(tuple(_runs(pieces, at, first, last)) for at in range(len(pieces)))
        return cls(segments, folded, tuple(edges), False)

    def matches(self, pattern: PathPattern) -> bool:
        """Whether some reading matches, letters folded."""
        if self.linear:
            return pattern.bind(self.plain, True) is not None
        if pattern.glob is not None:
            return self._escapes(pattern, ())
        return bool(self._walk(pattern, keep=False))

    def bindings(self, pattern: PathPattern) -> frozenset[Bindings] | None:
        """What the pattern binds, over all readings that match; None where they are too many to hold."""
        if self.linear or pattern.glob is not None:
            bound = pattern.bind(self.plain, True) if self.linear else {} if self.matches(pattern) else None
            return frozenset() if bound is None else frozenset({tuple(bound.items())})
        found = self._walk(pattern, keep=True)
        return None if found is None else frozenset(found)

    def escapes(self, outer: PathPattern, inner: Sequence[PathPattern]) -> bool:
        """Whether some reading matches `outer` and none of `inner`."""
        if self.linear:
            return self.matches(outer) and not any(p.bind(self.plain, True) is not None for p in inner)
        return self._escapes(outer, inner)

    def _walk(self, pattern: PathPattern, keep: bool) -> set[Bindings] | None:
        current: set[tuple[int, Bindings]] = {(at, ()) for at in self._settle({0})}
        for segment in pattern.segments:
            taken = {
                (after, (*bound, (segment.name, value)) if keep and segment.name else bound)
                for at, bound in current
                for label, target in self._out(at)
                for value in _values(segment, label)
                for after in self._settle({target})
            }
            if len({bound for _, bound in taken}) > MAX_BINDINGS:
                return None
            current = taken
        end = len(self.edges)
        if pattern.tail is None:
            return {bound for at, bound in current if at == end}
        tail = pattern.tail.casefold()
        return {bound for at, bound in current if any(label.casefold().startswith(tail) for label, _ in self._out(at))}

    def _out(self, at: int) -> tuple[tuple[str, int], ...]:
        return self.edges[at] if at < len(self.edges) else ()

    def _settle(self, nodes: set[int]) -> set[int]:
        """Positions reachable by removing segments that are, or become, empty."""
        out, todo = set(nodes), list(nodes)
        while todo:
            for label, target in self._out(todo.pop()):
                if (not label or label.startswith(";")) and target not in out:
                    out.add(target)
                    todo.append(target)
        return out

    def _escapes(self, outer: PathPattern, inner: Sequence[PathPattern]) -> bool:
        programs = [outer.folded_program(), *(p.folded_program() for p in inner)]
        first = (0, tuple(language.start(p) for p in programs))
        seen, todo = {first}, [first]
        end = len(self.edges)
        while todo:
            at, states = todo.pop()
            if at == end and _escaped(programs, states):
                return True
            for state in self._next(at, states, programs):
                if state not in seen:
                    seen.add(state)
                    todo.append(state)
            if len(seen) > MAX_PRODUCT:
                return True
        return False

    def _next(
        self, at: int, states: tuple[States, ...], programs: list[language.Program]
    ) -> Iterator[tuple[int, tuple[States, ...]]]:
        for label, target in self._out(at):
            for spelling in _spellings(label):
                if not spelling:
                    yield target, states
                moved = states
                for symbol in "/" + spelling:
                    moved = tuple(language.step(p, s, symbol) for p, s in zip(programs, moved, strict=True))
                if moved[0]:
                    yield target, moved


def _runs(pieces: list[str], at: int, first: int, last: int) -> Iterator[tuple[str, int]]:
    """From piece `at`: one edge for each run of pieces whose `%2F` are kept."""
    for stop in range(at + 1, len(pieces) + 1):
        yield ENCODED_SLASH.join(pieces[at:stop]), last if stop == len(pieces) else first + stop


def _spellings(label: str) -> Iterator[str]:
    """The label case-folded, whole and cut before each `;`."""
    folded = label.casefold()
    yield folded
    at = folded.find(";")
    while at >= 0:
        yield folded[:at]
        at = folded.find(";", at + 1)


def _values(segment: Segment, label: str) -> Iterator[str]:
    """What the segment takes of a label, whole and cut before each `;`; the bound text keeps its letters."""
    at = len(label)
    while at >= 0:
        if (value := segment.value(label[:at], True)) is not None:
            yield value
        at = label.rfind(";", 0, at)


def _accepts(program: language.Program, states: States) -> bool:
    return len(program) in states


def _escaped(programs: Sequence[language.Program], states: Sequence[States]) -> bool:
    """Whether the first accepts and none of the others does."""
    first, *others = (_accepts(program, state) for program, state in zip(programs, states, strict=True))
    return first and not any(others)
