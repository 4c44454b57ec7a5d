"""What an operation does, from its verb, its thing and what the vendor says of it: the grade that its effect gets (issue 4, points 3 and 6)."""

from __future__ import annotations

from effectgate.importers.lexicon import LEXICON
from effectgate.importers.operation import Access
from effectgate.importers.verbs import Act, act_of

_QUESTIONS = {Act.READ: Access.ASK, Act.ASK: Access.ASK, Act.PROBE: Access.PROBE}
_DEEDS = {
    Act.CHANGE: Access.WRITE,
    Act.DELETE: Access.DELETE,
    Act.RUN: Access.RUN,
    Act.SEND: Access.SEND,
    Act.EXPORT: Access.EXPORT,
}


def access_of(verb: str, words: frozenset[str], *, reads: bool | None, permissions: bool = False) -> Access:
    """The access of one operation.

    `reads`: whether the vendor's own label says that it only reads, None where there is no label; it is not believed of a verb that
    plainly changes something. `permissions`: the label says that it changes who may do what. `words`: those of its thing and its path,
    in the singular.
    """
    act = act_of(verb)
    if permissions:
        return Access.PERMISSION
    if reads is None:
        reads = act in _QUESTIONS
    if reads and (act in _QUESTIONS or verb not in LEXICON.acts):
        return Access.SECRET if _tells(words, "secret") else Access.READ
    return _changing(act, words)


def _changing(act: Act, words: frozenset[str]) -> Access:
    if act not in (Act.DELETE, Act.PROBE) and _tells(words, "credential"):
        return Access.CREDENTIAL
    if act in _QUESTIONS:
        return _QUESTIONS[act]
    return Access.PERMISSION if _tells(words, "permission") else _DEEDS[act]


def _tells(words: frozenset[str], kind: str) -> bool:
    return any(sign <= words for sign in LEXICON.signs[kind])
