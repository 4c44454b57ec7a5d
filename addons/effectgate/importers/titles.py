"""The sentence that says what an effect does: verbs, things and the service (at most 80 characters, no identifiers)."""

from __future__ import annotations

from collections import Counter

from effectgate.importers.grouping import Group
from effectgate.importers.lexicon import LEXICON
from effectgate.importers.operation import Access
from effectgate.importers.verbs import Act, act_of
from effectgate.importers.words import listed, phrase
from effectgate.policy.words import TITLE_LENGTH

# More verbs than these tell less than fewer would.
_VERBS = 4
_FIRST = ("read", "create", "change", "delete")
# Verbs that say nothing without a thing.
_TRANSITIVE = frozenset({*_FIRST, "fetch", "search"})
_NOTHING = ("data",)

# What stands for all things of a service, and the verbs where it has more than a title holds.
_ALL = {Access.READ: "everything that is no secret"}
_ANY = "things of any kind"
_FEW = {Access.READ: ["read"], Access.WRITE: ["create", "change"], Access.DELETE: ["delete"]}


def title_of(group: Group) -> str:
    """The title, whatever its length."""
    things = listed([phrase(thing or _NOTHING) for thing in group.things]) or _ALL.get(group.access, _ANY)
    text = f"{_deed(group, things)} in {group.service.name}"
    return text[:1].upper() + text[1:]


def fits(group: Group) -> bool:
    """Whether the title of this group is short enough, tells all verbs, and names a thing where others are named."""
    named = len(group.things) == 1 or () not in group.things
    return named and len(title_of(group)) <= TITLE_LENGTH and len(verbs_of(group)) <= _VERBS


def _deed(group: Group, things: str) -> str:
    if group.access is Access.SECRET:
        return f"read {things}" if _all_are(group, "secrets") else f"read the secrets of {things}"
    if group.access is Access.CREDENTIAL:
        return (
            f"obtain and change {things}" if _all_are(group, "credentials") else f"obtain credentials through {things}"
        )
    if group.access is Access.PERMISSION:
        return f"change access {'through' if _all_are(group, 'means_of_access') else 'to'} {things}"
    known = verbs_of(group)
    verbs = listed(known if group.things or len(known) <= _VERBS else _FEW[group.access])
    return verbs if group.things == ((),) and verbs not in _TRANSITIVE else f"{verbs} {things}"


def _all_are(group: Group, kind: str) -> bool:
    """Whether every thing that the title names ends in a word of that kind."""
    return bool(group.things) and all(thing and thing[-1] in LEXICON.lasts[kind] for thing in group.things)


def verbs_of(group: Group) -> list[str]:
    """The verbs of its operations: to create and to change first, then the most frequent."""
    counted = Counter(_title_verb(group.access, operation.verb) for operation in group.operations)

    def order(verb: str) -> tuple[int, int, str]:
        return (_FIRST.index(verb), 0, verb) if verb in _FIRST else (len(_FIRST), -counted[verb], verb)

    return sorted(counted, key=order)


def _title_verb(access: Access, verb: str) -> str:
    """A change does not read, whatever its name."""
    if act_of(verb) is Act.READ:
        return "read" if access is Access.READ else "fetch"
    return LEXICON.title_verbs.get(verb, verb)
