"""The readings of a path: what some server may take it for (design.md section 2, Recognition, rule 2).

Empty segments, a trailing slash and `;parameters` may be removed, `%2F` may be a slash, letters may be folded, at each place by
itself. The readings are the walks through a graph of positions, never listed: a pattern is matched over all of them at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from effectgate.policy.authority import EnvelopeError
from effectgate.policy.path import PathPattern
from effectgate.policy.walk import DEAD, PASSED, GlobWalk, Walk

ENCODED_SLASH = "%2F"
# Beyond these a path has more readings than can be weighed, and no request facts exist (fail closed).
MAX_EMPTY = 64
MAX_EDGES = 1024
# Characters on all edges; in a heavier path a `*` in mid-path counts as matching where it blocks and not where it excuses.
MAX_WEIGHT = 1024
# States of the product walked by `escapes`; beyond it the request counts as escaping (fail closed).
MAX_PRODUCT = 20_000

Edge = tuple[str, str, int]  # segment text, the same case-folded, the position after it


@dataclass(frozen=True, slots=True)
class Readings:
    """Where only letters can fold (`linear`), `folded` is the one reading beside `plain`, and there is no graph.

    Else `edges[i]` are the segments that may come at position i, and `settled[i]` the positions that i is when segments that are,
    or become, empty are removed; the last position is the end. `text` is the whole path, case-folded.
    """

    plain: tuple[str, ...]
    folded: tuple[str, ...]
    text: str
    linear: bool
    edges: tuple[tuple[Edge, ...], ...] = ()
    settled: tuple[tuple[int, ...], ...] = ()
    heavy: bool = False

    @classmethod
    def of(cls, segments: tuple[str, ...]) -> Readings:
        """The readings of decoded segments (`%2F` kept in them). EnvelopeError where they are too many."""
        folded = tuple(map(str.casefold, segments))
        text = "/".join(folded)
        if "" not in segments and ";" not in text and "%2f" not in text:
            return cls(segments, folded, text, True)
        _check_number(segments)
        edges, settled = _graph(segments)
        weight = sum(len(label) for out in edges for label, _, _ in out)
        return cls(segments, folded, text, False, edges, settled, weight > MAX_WEIGHT)

    def rule_out(self, pattern: PathPattern) -> bool:
        """Whether a glob matches on no reading, for a piece of it is not in the path: cheap, where many globs must be asked."""
        walk = pattern.caseless
        return isinstance(walk, GlobWalk) and not walk.finds_fragments(self.text)

    def matches(self, pattern: PathPattern) -> bool:
        """Whether some reading matches, letters folded."""
        if self.linear:
            return pattern.bind(self.plain, True) is not None
        return self._escapes(pattern.caseless, ())

    def escapes(self, outer: PathPattern, inner: Sequence[PathPattern]) -> bool:
        """Whether some reading matches `outer`, letters folded, and none of `inner` in the letters that the request has."""
        if self.linear:
            return self.matches(outer) and not any(p.match(self.plain) is not None for p in inner)
        return self._escapes(outer.caseless, [p.walk for p in inner])

    def _escapes(self, outer: Walk, inner: Sequence[Walk]) -> bool:
        if self.heavy and isinstance(outer, GlobWalk):
            return True
        walks = [outer, *(w for w in inner if not (self.heavy and isinstance(w, GlobWalk)))]
        first = (0, tuple(walk.start for walk in walks))
        seen, todo = {first}, [first]
        while todo:
            at, states = todo.pop()
            for node in self.settled[at]:
                if node == len(self.edges) and _escaped(walks, states):
                    return True
                for label, folded, target in self.edges[node] if node < len(self.edges) else ():
                    moved = tuple(
                        w.step(s, folded if w.caseless else label) for w, s in zip(walks, states, strict=True)
                    )
                    if moved[0] == DEAD or PASSED in moved[1:] or (target, moved) in seen:
                        continue
                    if moved[0] == PASSED and all(state == DEAD for state in moved[1:]):
                        return True
                    seen.add((target, moved))
                    todo.append((target, moved))
            if len(seen) > MAX_PRODUCT:
                return True
        return False


def _check_number(segments: tuple[str, ...]) -> None:
    ambiguous = [text for text in segments if ";" in text or ENCODED_SLASH in text]
    runs = [(text.count(ENCODED_SLASH) + 1, min(text.count(";"), 16)) for text in ambiguous]
    edges = sum(pieces * (pieces + 1) // 2 << parameters for pieces, parameters in runs)
    if segments.count("") > MAX_EMPTY or edges > MAX_EDGES:
        raise EnvelopeError("The path has so many empty segments, `;` or `%2F` that it can be read in too many ways.")


def _graph(segments: tuple[str, ...]) -> tuple[tuple[tuple[Edge, ...], ...], tuple[tuple[int, ...], ...]]:
    edges: list[tuple[Edge, ...]] = []
    removed: list[set[int]] = []
    for segment in segments:
        if segment and ";" not in segment and ENCODED_SLASH not in segment:
            edges.append(((segment, segment.casefold(), len(edges) + 1),))
            removed.append(set())
            continue
        pieces = segment.split(ENCODED_SLASH)
        first, last = len(edges), len(edges) + len(pieces)
        for at in range(len(pieces)):
            labels = list(_labels(pieces, at, first, last))
            edges.append(tuple((label, label.casefold(), after) for label, after in labels))
            removed.append({after for label, after in labels if not label})
    settled: list[tuple[int, ...]] = [(len(edges),)]
    for at in range(len(edges) - 1, -1, -1):
        after = {node for target in removed[at] for node in settled[len(edges) - target]}
        settled.append((at, *sorted(after)) if after else (at,))
    return tuple(edges), tuple(reversed(settled))


def _labels(pieces: list[str], at: int, first: int, last: int) -> Iterator[tuple[str, int]]:
    """From piece `at`: each run of pieces whose `%2F` are kept, and each choice of its parameters."""
    for stop in range(at + 1, len(pieces) + 1):
        head, *parameters = ENCODED_SLASH.join(pieces[at:stop]).split(";")
        for keeps in itertools.product((True, False), repeat=len(parameters)):
            kept = "".join(f";{p}" for p, keep in zip(parameters, keeps, strict=True) if keep)
            yield head + kept, last if stop == len(pieces) else first + stop


def _escaped(walks: Sequence[Walk], states: Sequence[int]) -> bool:
    """Whether the first accepts and none of the others does."""
    first, *others = (walk.accepts(state) for walk, state in zip(walks, states, strict=True))
    return first and not any(others)
