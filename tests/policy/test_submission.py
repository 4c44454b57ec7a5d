"""Tool calls, commands and file operations against held effects: the published answers, and what blocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from library import effect, library, text_of_published

from effectgate.policy.command import Recognisers
from effectgate.policy.submission import command_line, file_operation, tool_call

DATA = Path(__file__).parents[1] / "data" / "packs"
ROWS = list(map(json.loads, (DATA / "loader_vectors.jsonl").read_text().splitlines()))


def published() -> Recognisers:
    packs: dict[str, str] = {}
    for row in json.loads((DATA / "published_effects.json").read_text()):
        if row["id"] not in ("aws/read-inventory", "aws/start-compute"):
            pack = row["id"].partition("/")[0]
            packs[pack] = packs.get(pack, "") + text_of_published(row)
    return Recognisers(library(packs).catalog.effects.values(), {"github": "github"})


PUBLISHED = published()


@pytest.mark.parametrize("row", [row for row in ROWS if row["kind"] == "admit_tool"], ids=lambda row: str(row["tool"]))
def test_published_tool_answers_hold(row: dict[str, object]) -> None:
    call = tool_call(str(row["tool"]), PUBLISHED)
    held = frozenset(row["granted"])  # type: ignore[arg-type]
    admitting = call.admitting(held)
    if row["expect"] == "allow":
        assert admitting is not None
        assert admitting.id == row["names"]
    else:
        assert admitting is None
        assert row["names"] in [named.id for named in call.would_admit(held)]


def plain(name: str, risk: str, matches: str, more: str = "") -> str:
    return effect(name, risk, http="", hosts="", operations='"run_bash"', matches=matches, more=more)


CATALOG = library({
    "demo": plain("log", "read", 'commands = ["git log", "grep"]\nmcp_tools = ["both"]\n')
    + plain("all", "destructive", 'commands = ["git"]\nmcp_tools = ["both"]\n')
    + plain("hook", "read", 'commands = ["git log --exec"]\n', "reserved = true\n")
    + plain("push", "publish", 'commands = ["git push"]\n')
    + plain("files", "read", 'files = [{ op = "read", path = "/w/*" }]\n')
    + plain("keys", "destructive", 'files = [{ op = "read", path = "/w/keys/*" }]\n'),
}).catalog  # fmt: skip
OURS = Recognisers(CATALOG.effects.values())

# command line, held, who admits, what a refusal names
COMMANDS = [
    ("git log -1", ["log"], "log", []),
    ("git log -1", ["all"], "all", []),
    ("git log -1", [], None, ["log", "all"]),
    ("git push", ["log"], None, ["push", "all"]),
    ("git push", ["log", "all", "push"], "push", []),
    ("git log --exec x", ["log", "all"], None, ["hook", "log", "all"]),
    ("git log --exec x", ["log", "hook"], "hook", []),
    ("git log | grep x", ["log"], "log", []),
    ("git log | git push", ["log"], None, ["push", "all"]),
    ("git log | git push", ["log", "push"], "push", []),
    ("git log | rm x", ["log", "push", "all"], None, []),
    ("git log; grep x", ["log"], None, []),
    ("", ["log"], None, []),
]


@pytest.mark.parametrize(("line", "held", "admits", "named"), COMMANDS, ids=[f"{r[0]} {r[1]}" for r in COMMANDS])
def test_commands(line: str, held: list[str], admits: str | None, named: list[str]) -> None:
    ids = frozenset(f"demo/{name}" for name in held)
    submission = command_line(line, OURS)
    admitting = submission.admitting(ids)
    assert (admitting.id if admitting else None) == (f"demo/{admits}" if admits else None)
    assert [found.id for found in submission.would_admit(ids)] == [f"demo/{name}" for name in named]


def test_a_riskier_name_for_the_same_tool_blocks() -> None:
    call = tool_call("both", OURS)
    assert call.admitting({"demo/log"}) is None
    assert call.admitting({"demo/all"}) is not None
    admitting = call.admitting({"demo/log", "demo/all"})
    assert admitting is not None
    assert admitting.id == "demo/log"


# op, path, held, who admits
FILES = [
    ("read", "/w/a/b", ["files"], "demo/files"),
    ("read", "/w/keys/k", ["files"], None),
    ("read", "/w/keys/k", ["files", "keys"], "demo/keys"),
    ("write", "/w/a", ["files"], None),
    ("read", "/w/../etc/passwd", ["files"], None),
    ("read", "/w/./a", ["files"], None),
    ("read", "/w//a", ["files"], None),
    ("read", "w/a", ["files"], None),
    ("read", "/w/a\0", ["files"], None),
    ("read", "", ["files"], None),
]


@pytest.mark.parametrize(("op", "path", "held", "admits"), FILES)
def test_files(op: str, path: str, held: list[str], admits: str | None) -> None:
    admitting = file_operation(op, path, CATALOG.effects).admitting(frozenset(f"demo/{name}" for name in held))
    assert (admitting.id if admitting else None) == admits


@pytest.mark.parametrize("held", [[], ["log"], ["push", "all"], ["hook"]])
def test_growing_a_grant_refuses_no_more(held: list[str]) -> None:
    for line, _, _, _ in COMMANDS:
        submission = command_line(line, OURS)
        before = frozenset(f"demo/{name}" for name in held)
        for more in CATALOG.effects:
            assert submission.admitting(before) is None or submission.admitting(before | {more}) is not None
