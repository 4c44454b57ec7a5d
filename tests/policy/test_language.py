"""Inclusion and intersection of programs against every word of a small alphabet."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from effectgate.policy import language
from effectgate.policy.language import Element, Program

WORDS = [word for length in range(7) for word in itertools.product("abc", repeat=length)]
CLASSES = st.builds(Element, st.frozensets(st.sampled_from("ab"), max_size=2), st.booleans(), st.booleans())
PROGRAMS = st.lists(CLASSES, max_size=3).map(tuple)


def accepts(program: Program, word: tuple[str, ...]) -> bool:
    """A word at a time, by definition; `c` is a letter that no program mentions."""
    if not program:
        return not word
    first, rest = program[0], program[1:]
    if first.loop and accepts(rest, word):
        return True
    return bool(word) and first.accepts(word[0]) and accepts(program if first.loop else rest, word[1:])


def words_of(program: Program) -> set[tuple[str, ...]]:
    return {word for word in WORDS if accepts(program, word)}


@settings(max_examples=150, deadline=None)
@given(PROGRAMS, st.lists(PROGRAMS, min_size=1, max_size=2))
def test_inclusion_against_every_word(part: Program, wholes: list[Program]) -> None:
    covered = set().union(*map(words_of, wholes))
    assert language.included(part, wholes) is (words_of(part) <= covered)


@settings(max_examples=150, deadline=None)
@given(PROGRAMS, PROGRAMS)
def test_intersection_against_every_word(one: Program, two: Program) -> None:
    assert language.intersects(one, two) is bool(words_of(one) & words_of(two))


def test_a_folded_literal_takes_either_case() -> None:
    program = language.literal("aB", True)
    assert [language.included(language.literal(text), [program]) for text in ("ab", "AB", "aB", "ac")] == [
        True,
        True,
        True,
        False,
    ]
