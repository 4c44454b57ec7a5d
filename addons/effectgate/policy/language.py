"""Patterns as regular languages, so that "contained in" is decided and not guessed.

A program is a row of elements; each takes one symbol of a class, or any number of them when it loops. Paths are programs over
characters, hosts over labels. Inclusion walks the product of state sets over the symbols that the programs mention and OTHER,
which stands for every symbol they do not; intersection walks pairs of places. Both answers are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Element:
    """A class of symbols (`symbols`, or everything else where `negated`), once, or any number of times where `loop`."""

    symbols: frozenset[str]
    negated: bool = False
    loop: bool = False

    def accepts(self, symbol: str) -> bool:
        """Whether the class holds this symbol."""
        return (symbol in self.symbols) is not self.negated

    def meets(self, other: Element) -> bool:
        """Whether some symbol is in both classes; two negated ones share OTHER."""
        if self.negated:
            return other.negated or not other.symbols <= self.symbols
        return not self.symbols <= other.symbols if other.negated else not self.symbols.isdisjoint(other.symbols)


Program = tuple[Element, ...]
States = frozenset[int]

# No symbol of a pattern: those are single characters or host labels, never the empty text.
OTHER = ""


def literal(text: Iterable[str], fold: bool = False) -> Program:
    """The program for exactly these symbols; with `fold`, for either case of each."""
    return tuple(Element(frozenset({c.lower(), c.upper(), c} if fold else {c})) for c in text)


def closure(program: Program, states: Iterable[int]) -> States:
    """States reachable without taking a symbol: a loop may be left at once."""
    out: set[int] = set()
    for state in states:
        while state not in out:
            out.add(state)
            if state < len(program) and program[state].loop:
                state += 1
    return frozenset(out)


def step(program: Program, states: States, symbol: str) -> States:
    """States after taking one symbol, closed."""
    moved = [
        state if program[state].loop else state + 1
        for state in states
        if state < len(program) and program[state].accepts(symbol)
    ]
    return closure(program, moved)


def start(program: Program) -> States:
    """States before any symbol."""
    return closure(program, (0,))


def _alphabet(programs: Iterable[Program]) -> tuple[str, ...]:
    return (OTHER, *sorted({symbol for program in programs for element in program for symbol in element.symbols}))


def included(part: Program, wholes: Sequence[Program]) -> bool:
    """Whether every word of `part` is a word of at least one of `wholes`."""
    alphabet = _alphabet((part, *wholes))
    first = (start(part), tuple(start(whole) for whole in wholes))
    seen, todo = {first}, [first]
    while todo:
        inner, outers = todo.pop()
        if len(part) in inner and not any(len(w) in o for w, o in zip(wholes, outers, strict=True)):
            return False
        for symbol in alphabet:
            moved = step(part, inner, symbol)
            if not moved:
                continue
            pair = (moved, tuple(step(w, o, symbol) for w, o in zip(wholes, outers, strict=True)))
            if pair not in seen:
                seen.add(pair)
                todo.append(pair)
    return True


def intersects(one: Program, two: Program) -> bool:
    """Whether some word belongs to both: whether both ends are reached together, one shared symbol at a time."""
    seen, todo = {(0, 0)}, [(0, 0)]
    while todo:
        place = left, right = todo.pop()
        if left == len(one) and right == len(two):
            return True
        for after in _together(one, two, *place):
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return False


def _together(one: Program, two: Program, left: int, right: int) -> Iterator[tuple[int, int]]:
    """The places after one step: a loop left, or a symbol that both take."""
    mine = one[left] if left < len(one) else None
    its = two[right] if right < len(two) else None
    if mine is not None and mine.loop:
        yield left + 1, right
    if its is not None and its.loop:
        yield left, right + 1
    if mine is not None and its is not None and mine.meets(its):
        yield left + (not mine.loop), right + (not its.loop)
