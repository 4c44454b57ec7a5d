"""Command lines and tool names (design.md section 2, end of "Recognition and admission")."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from library import effect, library

from effectgate.policy.command import CommandPattern, Recognisers, Word, split_line, words_of
from effectgate.policy.fault import PatternError

VECTORS = (Path(__file__).parents[1] / "data" / "packs" / "loader_vectors.jsonl").read_text().splitlines()
ROWS = [row for row in map(json.loads, VECTORS) if row["kind"] == "command_match"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['pattern']} | {row['command']}")
def test_published_matches_hold(row: dict[str, object]) -> None:
    """Rows marked `hole` are of patterns that end in mid-word: they match nothing here too, and lint says `fragment`."""
    (words,) = split_line(str(row["command"]))
    assert CommandPattern.parse(str(row["pattern"])).matches(words) is row["expect"]


# line, words of each part; none where the line is not one plain command or pipeline
LINES = [
    ("gh run view 7", [["gh", "run", "view", "7"]]),
    ("  git\tlog  ", [["git", "log"]]),
    ("psql -c 'SELECT 1; DROP'", [["psql", "-c", "SELECT 1; DROP"]]),
    ('echo "a b"c\\ d', [["echo", "a bc d"]]),
    ('echo "a\\"b\\n"', [["echo", 'a"b\\n']]),
    ("echo '' \"\"", [["echo", "", ""]]),
    ("cat x | grep y|wc -l", [["cat", "x"], ["grep", "y"], ["wc", "-l"]]),
    ("make CC=gcc", [["make", "CC=gcc"]]),
    ("a#b", [["a#b"]]),
    ("'FOO=1' x", [["FOO=1", "x"]]),
    ("\u00e9cho \u00a0x", [["\u00e9cho", "\u00a0x"]]),
    ("", []),
    ("   ", []),
    ("a; b", []),
    ("a && b", []),
    ("a || b", []),
    ("a & ", []),
    ("a |& b", []),
    ("a | ", []),
    ("| a", []),
    ("a | | b", []),
    ("a > f", []),
    ("a 2>&1", []),
    ("a < f", []),
    ("a <(b)", []),
    ("$(a)", []),
    ("a `b`", []),
    ("a $B", []),
    ("a ${B}", []),
    ('a "$B"', []),
    ('a "`b`"', []),
    ("a $'x'", []),
    ("(a)", []),
    ("FOO=1 a", []),
    ("FOO+=1 a", []),
    ("F''OO=1 a", []),
    ("a | FOO=1 b", []),
    ("a\nb", []),
    ("a \\\nb", []),
    ("a\rb", []),
    ("a 'x\ny'", []),
    ("a\0", []),
    ("a 'x", []),
    ('a "x', []),
    ("a \\", []),
    ("a # b", []),
    ("# a", []),
]


@pytest.mark.parametrize(("line", "parts"), LINES, ids=[repr(row[0]) for row in LINES])
def test_a_line_is_one_plain_command_or_a_pipeline(line: str, parts: list[list[str]]) -> None:
    assert [[word.text for word in part] for part in split_line(line)] == parts


@pytest.mark.parametrize("line", ["gi? log", "g[i]t log", "git* log", "~/git log", "{git,log}", "git l*g"])
def test_what_a_shell_expands_matches_no_word_of_a_pattern(line: str) -> None:
    (words,) = split_line(line)
    assert not CommandPattern.parse("git* log").matches(words)
    assert not CommandPattern.parse("git log").matches(words)


@pytest.mark.parametrize("line", ["git log *.py", "'git' \"log\"", "git log ~"])
def test_what_is_quoted_or_follows_may_be_anything(line: str) -> None:
    (words,) = split_line(line)
    assert CommandPattern.parse("git log").matches(words)


WORDS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=6), min_size=1, max_size=4
)


@given(WORDS)
def test_what_is_quoted_for_a_shell_is_read_as_it_was(argv: list[str]) -> None:
    assert split_line(shlex.join(argv)) == (words_of(argv),)


@given(st.text("ab '\"\\|#=*$;\n", max_size=12))
def test_a_line_that_is_read_is_read_as_posix_does(line: str) -> None:
    parts = split_line(line)
    if len(parts) == 1:
        assert [word.text for word in parts[0]] == shlex.split(line)


# pattern, words, matches
PATTERNS = [
    ("gh run view", ["gh", "run", "view"], True),
    ("gh run view", ["gh", "run"], False),
    ("gh run view", ["gh", "run", "viewer"], False),
    ("gh run view", ["gh", "run", "view", "x"], True),
    ("gh * view", ["gh", "run", "view"], True),
    ("gh * view", ["gh", "a", "b", "view"], False),
    ("psql -c SELECT*", ["psql", "-c", "SELECT 1"], True),
    ("gh api repos/*/actions", ["gh", "api", "repos/o/r/actions"], True),
    ("gh api repos/*/actions", ["gh", "api", "repos/o/r/actions/runs/7"], True),
    ("gh api repos/*/actions", ["gh", "api", "repos/o/r/actionsx/y"], False),
    ("make", ["make/evil"], False),
    ("npm run", ["npm", "run/x"], False),
    ("*sum", ["sha256sum", "x"], True),
]


@pytest.mark.parametrize(("pattern", "argv", "expected"), PATTERNS)
def test_patterns(pattern: str, argv: list[str], expected: bool) -> None:
    assert CommandPattern.parse(pattern).matches(words_of(argv)) is expected


@pytest.mark.parametrize("text", ["", "  ", "*", "** x", "a\nb", "a\x07"])
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(PatternError) as caught:
        CommandPattern.parse(text)
    assert caught.value.fix


INCLUDED = [
    ("git stash push", "git stash", True),
    ("git stash", "git stash push", False),
    ("git log", "git *", True),
    ("git l*", "git *o*", False),
    ("git lo*", "git l*", True),
    ("git log", "git log", True),
]


@pytest.mark.parametrize(("part", "whole", "expected"), INCLUDED)
def test_inclusion(part: str, whole: str, expected: bool) -> None:
    assert CommandPattern.parse(part).included(CommandPattern.parse(whole)) is expected


def test_the_more_words_the_more_specific() -> None:
    ranks = [CommandPattern.parse(text).rank for text in ("git stash push", "git stash", "git st*", "git")]
    assert ranks == sorted(ranks)


def test_a_hostile_word_takes_linear_time() -> None:
    started = time.process_time()
    assert not CommandPattern.parse("x *a*a*a*a*b").matches((Word("x"), Word("a" * 100_000)))
    assert split_line("x '" + "\\" * 100_000) == ()
    assert time.process_time() - started < 1


def tool(name: str, risk: str, tools: str) -> str:
    return effect(name, risk, http="", hosts="", matches=f"mcp_tools = [{tools}]\n")


CATALOG = library({
    "github": tool("read", "read", '"get_logs", "own__tool"') + tool("write", "publish", '"open_pr", "shared"'),
    "k8s": tool("logs", "read", '"get_logs", "shared"'),
}).catalog  # fmt: skip
TOOLS = Recognisers(CATALOG.effects.values(), {"gh": "github", "a__b": "k8s"})

CALLS = [
    ("get_logs", ["github/read", "k8s/logs"]),
    ("gh__get_logs", ["github/read"]),
    ("a__b__get_logs", ["k8s/logs"]),
    ("github__get_logs", []),
    ("own__tool", ["github/read"]),
    ("gh__own__tool", ["github/read"]),
    ("shared", ["k8s/logs", "github/write"]),
    ("gh__shared", ["github/write"]),
    ("GET_LOGS", []),
    ("get_logs ", []),
    ("", []),
]


@pytest.mark.parametrize(("name", "effects"), CALLS, ids=[repr(row[0]) for row in CALLS])
def test_tools_are_named_exactly_or_by_a_mapped_server(name: str, effects: list[str]) -> None:
    assert [found.id for found in TOOLS.tool(name)] == effects


def test_commands_are_found_by_their_first_word_or_a_star() -> None:
    def command(name: str, text: str) -> str:
        return effect(name, "read", http="", hosts="", matches=f'commands = ["{text}"]\n')

    catalog = library({"demo": command("a", "git log") + command("b", "g*t") + command("c", "svn log")}).catalog
    found = Recognisers(catalog.effects.values()).command(words_of(["git", "log", "-1"]))
    assert [(pattern.text, named.id) for pattern, named in found] == [("git log", "demo/a"), ("g*t", "demo/b")]
    assert Recognisers(catalog.effects.values()).command(()) == ()
