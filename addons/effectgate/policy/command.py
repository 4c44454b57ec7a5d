"""Command lines and tool names: which effects name them (design.md section 2, end of "Recognition and admission").

A line is split as POSIX sh splits it (IEEE 1003.1, XCU 2.2 and 2.3). What a shell would run beside or instead of the
words that stand there - operators, substitution, redirection, assignment, a second line - makes the line match nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from effectgate.policy import language
from effectgate.policy.effect import Effect
from effectgate.policy.fault import PatternError
from effectgate.policy.language import Program
from effectgate.policy.value import ValuePattern
from effectgate.policy.walk import glob_matches

_PIECE = re.compile(
    r"""(?P<space>[ \t]+)
      | (?P<pipe>\|(?![|&]))
      | '(?P<single>[^'\x00-\x08\x0a-\x1f]*)'
      | "(?P<double>(?:[^"\\$`\x00-\x08\x0a-\x1f]|\\[^\x00-\x1f])*)"
      | \\(?P<escaped>[^\x00-\x1f])
      | (?P<expanded>[*?\[\]{}~])
      | (?P<plain>[^\x20\x00-\x1f'"\\|&;<>()$`*?\[\]{}~]+)""",
    re.VERBOSE,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
# In double quotes a backslash stays unless it stands before one of these (XCU 2.2.3).
_QUOTED_ESCAPE = re.compile(r'\\(["\\$`])')


@dataclass(frozen=True, slots=True)
class Word:
    """One word as the program gets it. `expanded`: the shell may turn it into others, so it matches no pattern word."""

    text: str
    expanded: bool = False


Words = tuple[Word, ...]


def words_of(argv: Iterable[str]) -> Words:
    """The words of an argument vector, which no shell reads."""
    return tuple(Word(text) for text in argv)


def split_line(line: str) -> tuple[Words, ...]:
    """The parts of a pipeline, each as words; empty where the line is anything but one plain command or pipeline."""
    parts: list[list[Word]] = [[]]
    pending: Word | None = None
    at = 0
    while at < len(line):
        found = _PIECE.match(line, at)
        if found is None or (pending is None and line[at] == "#"):
            return ()
        at = found.end()
        if found.lastgroup in ("space", "pipe"):
            parts[-1] += [] if pending is None else [pending]
            pending = None
            if found.lastgroup == "pipe":
                parts.append([])
            continue
        pending = _joined(pending, found)
        if len(parts[-1]) == 0 and found.lastgroup == "plain" and _ASSIGNMENT.match(pending.text):
            return ()
    parts[-1] += [] if pending is None else [pending]
    return tuple(map(tuple, parts)) if all(parts) else ()


def _joined(before: Word | None, found: re.Match[str]) -> Word:
    kind = found.lastgroup or ""
    text = found[kind]
    if kind == "double":
        text = _QUOTED_ESCAPE.sub(r"\1", text)
    start = before or Word("")
    return Word(start.text + text, start.expanded or kind == "expanded")


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """The first words of a command; `*` inside a word is any run. `words[i]` is the literal runs between its stars."""

    text: str
    words: tuple[tuple[str, ...], ...]

    @classmethod
    def parse(cls, text: str) -> CommandPattern:
        """Read a pattern: words between spaces, without quotes. PatternError where no command could match."""
        if not text.isprintable() or not text.split():
            raise PatternError(f"the command {text!r} is empty or not printable", "write its first words")
        if text.split()[0].strip("*") == "":
            raise PatternError(f"the command {text!r} is every command", "name the program")
        return cls(text, tuple(tuple(word.split("*")) for word in text.split()))

    def matches(self, words: Words) -> bool:
        """Whether the command begins with these words, each whole; what follows is free."""
        if len(words) < len(self.words):
            return False
        *first, last = self.words
        return all(map(_word_matches, first, words)) and self._last_matches(last, words[len(first)])

    def _last_matches(self, runs: tuple[str, ...], word: Word) -> bool:
        """A last argument that is a path covers what lies below it: `repos/*/actions` covers `repos/o/r/actions/runs`."""
        if _word_matches(runs, word):
            return True
        path = len(self.words) > 1 and "/" in "".join(runs)
        return path and _word_matches((*runs[:-1], runs[-1] + "/", ""), word)

    def included(self, other: CommandPattern) -> bool:
        """Whether every command of this pattern is one of the other's."""
        if len(self.words) < len(other.words):
            return False
        return all(
            language.included(_program(mine), (_program(its),))
            for mine, its in zip(self.words, other.words, strict=False)
        )

    @property
    def rank(self) -> tuple[int, int]:
        """Specificity, smaller is more specific: more words, then more literal text."""
        return -len(self.words), -sum(len(run) for runs in self.words for run in runs)


def _program(runs: tuple[str, ...]) -> Program:
    return ValuePattern("*".join(runs), runs).program()


def _word_matches(runs: tuple[str, ...], word: Word) -> bool:
    if word.expanded:
        return False
    return word.text == runs[0] if len(runs) == 1 else glob_matches(runs, word.text, False)


class Recognisers:
    """Tool names and commands of all effects, by name and by first word. Built once, never changed.

    `servers` is `mcp_servers:` of the settings: the name of an MCP server -> the pack whose tools it serves.
    """

    def __init__(self, effects: Iterable[Effect], servers: Mapping[str, str] | None = None) -> None:
        self._servers = dict(servers or {})
        self._tools: dict[str, list[Effect]] = {}
        self._commands: dict[str, list[tuple[CommandPattern, Effect]]] = {}
        for effect in effects:
            for tool in effect.tools:
                self._tools.setdefault(tool, []).append(effect)
            for text in effect.commands:
                pattern = CommandPattern.parse(text)
                first = pattern.words[0][0] if len(pattern.words[0]) == 1 else "*"
                self._commands.setdefault(first, []).append((pattern, effect))

    def tool(self, name: str) -> tuple[Effect, ...]:
        """The effects that name a tool: exactly, or as `server__tool` for a server of their pack; least risk first."""
        found = list(self._tools.get(name, ()))
        for server, pack in self._servers.items():
            if name.startswith(f"{server}__"):
                found += [e for e in self._tools.get(name[len(server) + 2 :], ()) if e.pack == pack]
        return tuple(sorted({effect.id: effect for effect in found}.values(), key=lambda e: (e.risk, e.id)))

    def command(self, words: Words) -> tuple[tuple[CommandPattern, Effect], ...]:
        """The patterns that one command begins with, most specific first."""
        if not words:
            return ()
        near = (*self._commands.get(words[0].text, ()), *self._commands.get("*", ()))
        found = [(pattern, effect) for pattern, effect in near if pattern.matches(words)]
        return tuple(sorted(found, key=lambda item: (item[0].rank, item[1].risk, item[1].id)))
