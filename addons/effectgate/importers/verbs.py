"""What the verbs of operation names mean, and how they stand in a title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from effectgate.importers.lexicon import LEXICON


class Act(StrEnum):
    """The kinds of deed that verbs tell of, as `lexicon.toml` names them."""

    READ = "read"
    ASK = "ask"
    PROBE = "probe"
    CHANGE = "change"
    DELETE = "delete"
    RUN = "run"
    SEND = "send"
    EXPORT = "export"


# Asking what a caller may do, or who may: it changes nothing, but vendors label it by its method.
ACCESS_QUESTION = "ask about access to"

# HTTP method -> the verb that it stands for where an operation has no verb of its own.
METHOD_VERBS: Mapping[str, str] = {
    "GET": "get",
    "HEAD": "get",
    "OPTIONS": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "update",
    "DELETE": "delete",
}


def act_of(verb: str) -> Act:
    """What a verb does; one that nobody knows is taken for a change."""
    return Act.PROBE if verb == ACCESS_QUESTION else Act(LEXICON.acts.get(verb, Act.CHANGE))


def is_verb(word: str) -> bool:
    """Whether the lexicon knows it as one."""
    return word in LEXICON.acts or word in LEXICON.title_verbs


def parted(words: Sequence[str], method: str = "") -> tuple[str, tuple[str, ...]]:
    """Verb and object of an identifier's words. Where none of them is a verb, the method says it."""
    at = 0
    while at < len(words) - 1 and words[at] in LEXICON.qualifiers:
        at += 1
    if not method or (words and is_verb(words[at])):
        return words[at], tuple(words[at + 1 :])
    return METHOD_VERBS[method], tuple(words)


def object_of(words: Sequence[str]) -> tuple[str, ...]:
    """The thing itself, without what follows a preposition."""
    ends = (at for at, word in enumerate(words) if at and word in LEXICON.prepositions)
    return tuple(words[: next(ends, len(words))])
