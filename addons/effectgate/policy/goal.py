"""From the words of a goal to effects, by rules that are data (`effects/goals/*.toml`). Pure.

Whatever a rule says, a goal is given reads alone beyond the repository: its words are the agent's task, not a person's approval.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect
from effectgate.policy.lattice import id_matches
from effectgate.policy.suggestion import LeftOut, Wish
from effectgate.policy.vocabulary import Risk

_WORD = re.compile(r"[a-z0-9]+(?:[-+.][a-z0-9]+)*")
_PHRASE = re.compile(r"[a-z0-9]+(?:[-+.][a-z0-9]+)*\*?(?: [a-z0-9]+(?:[-+.][a-z0-9]+)*\*?)*")

_LOCAL = frozenset({"read_files", "write_files", "edit_files", "glob_search", "grep_search", "run_bash", "git_commit"})
# A push, and a pull request for it, go to the repository's own remote, where a person still merges; a comment is heard by others.
_PUSH = "git_push"
_TO_REMOTE = frozenset({_PUSH, "create_pr"})
_NOWHERE: dict[str, tuple[()]] = {}


@dataclass(frozen=True, slots=True)
class GoalRule:
    """Phrases, any of which fires the rule, and id patterns of what it proposes and of what a person may add by name."""

    name: str
    phrases: tuple[str, ...]
    propose: tuple[str, ...]
    by_name: tuple[str, ...] = ()
    narrow: bool = False


@dataclass(frozen=True, slots=True)
class Ecosystem:
    """A language: files of which one lies in a repository that is written in it, and effects that only it needs."""

    name: str
    files: tuple[str, ...]
    effects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GoalRules:
    """All rules of all files, in order."""

    rules: tuple[GoalRule, ...]
    ecosystems: tuple[Ecosystem, ...]


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule that fired, and the words of the goal that did it."""

    rule: str
    words: str


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a goal comes to. Without `fired` no rule knows its words."""

    fired: tuple[Fired, ...]
    wishes: tuple[Wish, ...]
    left_out: tuple[LeftOut, ...]


def is_phrase(text: str) -> bool:
    """Whether a rule may have this phrase: lower-case words with one space between, each of which `*` may end."""
    return _PHRASE.fullmatch(text) is not None


def words_of(text: str) -> list[str]:
    """The words of a text, lower-case."""
    return _WORD.findall(text.lower())


def map_goal(rules: GoalRules, goal: str, catalog: Catalog, files: frozenset[str] | None = None) -> Mapped:
    """The effects that the words of a goal stand for.

    `files` are the names in the top directory of the repository; None: nothing is known of it, and no language is left out.
    """
    words = words_of(goal)
    hits = [(rule, found) for rule in rules.rules if (found := _found(rule.phrases, words))]
    covered = {pattern.partition("/")[0] for rule, _ in hits for pattern in rule.propose}
    services = list(_services(catalog, words, covered))
    foreign = [] if files is None else [eco for eco in rules.ecosystems if not files.intersection(eco.files)]
    wishes, left_out = _sorted_out(catalog, [*hits, *services], foreign)
    fired = tuple(Fired(rule.name, found) for rule, found in [*hits, *services])
    return Mapped(fired, tuple(wishes), tuple(left_out))


def _found(phrases: Iterable[str], words: Sequence[str]) -> str:
    """The words that one of the phrases stands for, or the empty text."""
    for phrase in phrases:
        wanted = phrase.split(" ")
        for at in range(len(words) - len(wanted) + 1):
            if all(map(_is, wanted, words[at : at + len(wanted)])):
                return " ".join(words[at : at + len(wanted)])
    return ""


def _is(wanted: str, word: str) -> bool:
    return word.startswith(wanted[:-1]) if wanted.endswith("*") else word == wanted


def _services(catalog: Catalog, words: Sequence[str], covered: set[str]) -> Iterator[tuple[GoalRule, str]]:
    """For each pack that the goal names and no rule speaks of: its reads whose titles share a noun with the goal.

    The first word of a title is its verb, and says nothing about what is read.
    """
    named = {effect.pack for effect in catalog.effects.values()}.intersection(words) - covered
    asked = {_singular(word) for word in words if len(word) > 3} - named
    for pack in sorted(named):
        hits = {
            effect.id: shared
            for effect in catalog.effects.values()
            if effect.pack == pack and effect.risk is Risk.READ and not effect.reserved
            if (shared := asked.intersection(map(_singular, words_of(effect.title)[1:])))
        }
        if hits:
            nouns = sorted(set().union(*hits.values()))
            yield GoalRule(f"service:{pack}", (pack,), tuple(hits)), " ".join([pack, *nouns])


def _singular(word: str) -> str:
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")


def _sorted_out(
    catalog: Catalog, hits: Iterable[tuple[GoalRule, str]], foreign: Sequence[Ecosystem]
) -> tuple[list[Wish], list[LeftOut]]:
    wishes: dict[str, Wish] = {}
    left: dict[str, LeftOut] = {}
    for rule, found in hits:
        for effect in _matching(catalog, rule.propose):
            reason = _foreign(effect, foreign) if rule.narrow else ""
            if reason := reason or withheld(effect):
                left.setdefault(effect.id, LeftOut(effect.id, reason))
            else:
                wishes.setdefault(effect.id, Wish(effect.id, f'rule {rule.name} on "{found}"', _NOWHERE))
        for effect in _matching(catalog, rule.by_name):
            left.setdefault(
                effect.id, LeftOut(effect.id, "a goal does not say that a person wants it; add it with --effects")
            )
    return list(wishes.values()), [item for item in left.values() if item.what not in wishes]


def _matching(catalog: Catalog, patterns: Iterable[str]) -> Iterator[Effect]:
    """The effects of these patterns, in order; what no pack of this catalogue has is not there to be proposed."""
    for pattern in patterns:
        if "*" not in pattern:
            yield from [catalog.effects[pattern]] if pattern in catalog.effects else ()
        else:
            yield from (effect for effect in catalog.effects.values() if id_matches(pattern, effect.id))


def _foreign(effect: Effect, foreign: Iterable[Ecosystem]) -> str:
    for eco in foreign:
        if any(id_matches(pattern, effect.id) for pattern in eco.effects):
            return f"no {' or '.join(eco.files)} lies in the repository, so {eco.name} seems foreign to it; add it with --effects"
    return ""


def withheld(effect: Effect) -> str:
    """Why no goal may propose this effect, or the empty text: it reads, stays on this machine, or goes to the repository's remote."""
    if effect.reserved:
        return "it is reserved: only a person adds it, with --effects"
    local = not effect.hosts and effect.risk <= Risk.EXECUTE and _LOCAL.issuperset(effect.operations)
    remote = effect.risk <= Risk.PUBLISH and _PUSH in effect.operations and _TO_REMOTE.issuperset(effect.operations)
    if effect.risk is Risk.READ or local or remote:
        return ""
    return f"it is no read (its risk is {effect.risk.word}) and acts beyond the repository; add it with --effects"
