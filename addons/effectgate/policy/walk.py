"""A path pattern walked segment by segment, so that many readings of one path are matched in one go.

A state is a small number: how far the walk is. DEAD never matches again; PASSED matches whatever follows.
"""

from __future__ import annotations

from typing import Protocol

DEAD, PASSED = -1, -2


class Piece(Protocol):
    """One segment of a pattern: what it takes of a segment's text, or None."""

    def value(self, text: str, fold: bool = False) -> str | None:
        """The text taken."""


class Walk(Protocol):
    """`caseless`: its literal text is case-folded, and so must the text be that it is given."""

    @property
    def caseless(self) -> bool:
        """Whether it wants folded text."""

    @property
    def start(self) -> int:
        """The state before any segment."""

    def step(self, state: int, text: str) -> int:
        """The state after one more segment."""

    def accepts(self, state: int) -> bool:
        """Whether the path may end here."""


class SegmentWalk:
    """The walk of a segmented pattern: the state is the number of segments taken."""

    __slots__ = ("_segments", "_tail", "caseless")

    start = 0

    def __init__(self, segments: tuple[Piece, ...], tail: str | None, caseless: bool) -> None:
        self._segments = segments
        self._tail = tail
        self.caseless = caseless

    def step(self, state: int, text: str) -> int:
        """As `Walk`."""
        if state < 0:
            return state
        if state < len(self._segments):
            return DEAD if self._segments[state].value(text) is None else state + 1
        return PASSED if self._tail is not None and text.startswith(self._tail) else DEAD

    def accepts(self, state: int) -> bool:
        """As `Walk`."""
        return state == PASSED or (state == len(self._segments) and self._tail is None)


class GlobWalk:
    """The walk of a glob, all placements of its runs at once: bit i of the state says that i literal characters are taken."""

    __slots__ = ("_final", "_fragments", "_loops", "_masks", "caseless")

    start = 1

    def __init__(self, runs: tuple[str, ...], caseless: bool) -> None:
        text = "".join(runs)
        self.caseless = caseless
        self._masks: dict[str, int] = {}
        for at, char in enumerate(text):
            self._masks[char] = self._masks.get(char, 0) | 1 << at
        self._loops = sum(1 << len("".join(runs[:count])) for count in range(1, len(runs)))
        self._final = 1 << len(text)
        self._fragments = tuple(part for run in runs for whole in run.split("/") for part in whole.split(";") if part)

    def step(self, state: int, text: str) -> int:
        """As `Walk`."""
        if state == DEAD:
            return DEAD
        masks, loops = self._masks, self._loops
        for char in "/" + text:
            state = (state & masks.get(char, 0)) << 1 | state & loops
        return state or DEAD

    def accepts(self, state: int) -> bool:
        """As `Walk`."""
        return state != DEAD and bool(state & self._final)

    def finds_fragments(self, text: str) -> bool:
        """Whether every piece of the runs without `/` and `;` stands in the text, one after the other."""
        at = 0
        for fragment in self._fragments:
            if (at := text.find(fragment, at)) < 0:
                return False
            at += len(fragment)
        return True


def glob_matches(runs: tuple[str, ...], path: str, fold: bool) -> bool:
    """Literal runs in order, anchored at both ends: leftmost placement of each inner run is enough, so this is linear."""
    if fold:
        runs, path = tuple(run.casefold() for run in runs), path.casefold()
    first, *inner, last = runs
    if len(path) < len(first) + len(last) or not path.startswith(first) or not path.endswith(last):
        return False
    at, end = len(first), len(path) - len(last)
    for run in inner:
        at = path.find(run, at, end)
        if at < 0:
            return False
        at += len(run)
    return True
