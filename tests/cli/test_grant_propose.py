"""`effectgate grant propose`: what it prints goes straight into grants.yaml."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Command

GOALS = """
[[rule]]
name = "notes"
phrases = ["notes"]
propose = ["notes/*"]
"""


@pytest.fixture
def goals(installation: Path) -> Path:
    (installation / "effects" / "goals").mkdir()
    (installation / "effects" / "goals" / "goals.toml").write_text(GOALS)
    return installation


def test_a_goal_becomes_a_grants_file(effectgate: Command, goals: Path) -> None:
    ran = effectgate("grant", "propose", "--goal", 'read the "notes"\n# x', "--agent", "reader")
    assert (ran.code, ran.err) == (0, "")
    assert '# Rule notes fired on "notes".' in ran.out
    assert "#   notes/write: it is no read" in ran.out
    (goals / "grants.yaml").write_text(ran.out)
    assert effectgate("grant", "check").code == 0
    shown = effectgate("grant", "show", "reader")
    assert "Goal: read the" in shown.out
    assert "Risk: read (1 read)" in shown.out
    assert json.loads(effectgate("grant", "show", "reader", "--json").out)["risk"] == "read"


def test_the_entries_are_sealed(effectgate: Command, goals: Path) -> None:
    (goals / "grants.yaml").write_text(effectgate("grant", "propose", "--goal", "notes", "--agent", "reader").out)
    pack = goals / "effects" / "notes.toml"
    pack.write_text(pack.read_text().replace("Read notes", "Read all notes"))
    assert "notes/read: the effect has changed since the grant was sealed" in effectgate("grant", "show", "reader").out


def test_json_has_rules_reasons_and_the_text(effectgate: Command, goals: Path) -> None:
    told = json.loads(effectgate("grant", "propose", "--goal", "notes", "--json").out)
    assert told["notes"] == ['Rule notes fired on "notes".']
    assert [entry["effect"] for entry in told["effects"]] == ["notes/read"]
    assert [item["what"] for item in told["left_out"]] == ["notes/write"]
    assert told["grants_yaml"].startswith("# Rule notes")


def test_names_and_scopes(effectgate: Command, goals: Path) -> None:
    told = json.loads(
        effectgate(
            "grant", "propose", "--effects", "notes/read", "--where", "book=b*", "--where", "book=c", "--json"
        ).out
    )
    assert told["effects"][0]["where"] == {"book": ["b*", "c"]}
    (goals / "grants.yaml").write_text(told["grants_yaml"])
    assert effectgate("grant", "check").code == 0


FAILURES = [
    (("--goal", "hello there"), 1, "no rule knows a word"),
    (("--effects", "notes/write"), 1, "above read"),
    (("--effects", "notes/raed"), 2, "write 'notes/read'"),
    (("--effects", "notes/read", "--ceiling", "none"), 2, "write one of read-only"),
    (("--effects", "notes/read", "--where", "book"), 2, "--where owner=acme"),
    (("--goal", "notes", "--repository", "nowhere"), 2, "name the top directory"),
    ((), 2, "give --goal"),
]


@pytest.mark.parametrize(("options", "code", "message"), FAILURES)
def test_what_fails_names_the_remedy(
    effectgate: Command, goals: Path, options: tuple[str, ...], code: int, message: str
) -> None:
    ran = effectgate("grant", "propose", *options)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_without_rules_the_remedy_is_told(effectgate: Command) -> None:
    assert "add goals/NAME.toml" in effectgate("grant", "propose", "--goal", "notes").err
