"""Patterns as regular languages, so that "contained in" is decided and not guessed.

A program is a row of elements; each takes one symbol of a class, or any number of them when it loops. Paths are programs over
characters, hosts over labels. Inclusion and intersection walk the product of state sets over the symbols that the programs
mention and OTHER, which stands for every symbol they do not; so the answer is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """Whether some word belongs to both."""
    alphabet = _alphabet((one, two))
    first = (start(one), start(two))
    seen, todo = {first}, [first]
    while todo:
        left, right = todo.pop()
        if len(one) in left and len(two) in right:
            return True
        for symbol in alphabet:
            pair = (step(one, left, symbol), step(two, right, symbol))
            if all(pair) and pair not in seen:
                seen.add(pair)
                todo.append(pair)
    return False
