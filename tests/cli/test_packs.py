"""`effectgate packs` and `effectgate grant`."""

from __future__ import annotations

import json
import time
from pathlib import Path

from cli.conftest import Command


def test_the_list_as_json_has_the_members_of_the_design(effectgate: Command) -> None:
    listed = json.loads(effectgate("packs", "list", "--json").out)
    assert set(listed) == {"digest", "effects"}
    assert listed["digest"].startswith("sha256:")
    assert listed["effects"][0] == {
        "id": "notes/read",
        "title": "Read notes",
        "risk": "read",
        "reserved": False,
        "hosts": ["notes.example.com"],
    }


def test_the_list_for_people_names_every_effect(effectgate: Command) -> None:
    ran = effectgate("packs", "list")
    assert "notes/read" in ran.out
    assert "2 effects, sha256:" in ran.out


def test_directories_replace_the_configured_packs(effectgate: Command, installation: Path) -> None:
    (installation / "none").mkdir()
    assert json.loads(effectgate("packs", "list", "none", "--json").out)["effects"] == []


def test_lint_tells_faults_by_exit_1_and_hazards_by_strict(effectgate: Command, installation: Path) -> None:
    assert effectgate("packs", "lint").code == 0
    pack = installation / "effects" / "notes.toml"
    good = pack.read_text()
    pack.write_text(
        good.replace('path = "/v1/{book}/notes" }]\n\n[[example]]', 'path = "/v1/*/notes" }]\n\n[[example]]')
    )
    assert effectgate("packs", "lint").code == 0
    assert effectgate("packs", "lint", "--strict").code == 1
    pack.write_text(good.replace('risk = "publish"', 'risk = "pubish"').replace('title = "Read notes"', 'titel = "x"'))
    ran = effectgate("packs", "lint", "--json")
    assert ran.code == 1
    assert len(json.loads(ran.out)["faults"]) >= 2


def test_the_examples_are_asked(effectgate: Command, installation: Path) -> None:
    assert effectgate("packs", "test").out == "2 rows, 0 wrong\n"
    pack = installation / "effects" / "notes.toml"
    pack.write_text(pack.read_text().replace('expect = "allow"', 'expect = "deny"'))
    ran = effectgate("packs", "test")
    assert ran.code == 1
    assert "notes.toml:" in ran.out
    assert "expected deny notes/read, answered allow notes/read" in ran.out
    assert json.loads(effectgate("packs", "test", "--json").out)["rows"] == 2


def test_a_grant_shows_can_cannot_and_limits(effectgate: Command) -> None:
    ran = effectgate("grant", "show", "ci-fixer")
    assert "notes/read  (read) Read notes" in ran.out
    assert 'where {"book": ["mine"]}' in ran.out
    assert "notes/write: its risk publish is above read" in ran.out
    assert "Limits: 5 requests per day, expires 2099-01-01" in ran.out
    shown = json.loads(effectgate("grant", "show", "ci-fixer", "--json").out)
    assert [entry["effect"] for entry in shown["can"]] == ["notes/read"]
    assert [entry["effect"] for entry in shown["cannot"]] == ["notes/write"]


def test_an_unknown_agent_is_exit_2(effectgate: Command) -> None:
    ran = effectgate("grant", "show", "nobody")
    assert (ran.code, ran.out) == (2, "")
    assert "its agents are: ci-fixer" in ran.err


def test_every_fault_of_a_grants_file_at_once(effectgate: Command, installation: Path) -> None:
    assert effectgate("grant", "check").code == 0
    grants = installation / "grants.yaml"
    grants.write_text(grants.read_text().replace("notes/read", "notes/raed").replace("per: day", "per: eon"))
    ran = effectgate("grant", "check")
    assert ran.code == 2
    assert ran.err.count("grants.yaml:") == 2
    told = effectgate("grant", "check", "--json")
    assert (told.code, told.err) == (2, "")
    assert [fault["key"] for fault in json.loads(told.out)["faults"]] == [
        "agents[0].effects[0]",
        "agents[0].limits.per",
    ]


def test_without_a_grants_file_the_fix_is_told(effectgate: Command, installation: Path) -> None:
    (installation / "grants.yaml").unlink()
    assert "run_proxy.sh" in effectgate("grant", "check").err


def test_a_difference_is_told_by_exit_1_and_none_by_0(effectgate: Command, installation: Path) -> None:
    new = installation / "new"
    new.mkdir()
    text = (installation / "effects" / "notes.toml").read_text()
    (new / "notes.toml").write_text(text)
    assert effectgate("packs", "diff", "effects", "new").code == 0
    (new / "notes.toml").write_text(text.replace('id = "read"', 'id = "read"\nreserved = true', 1))
    ran = effectgate("packs", "diff", "effects", "new")
    assert (ran.code, ran.out.splitlines()[:2]) == (1, ["changed notes/read (Read notes)", "  now reserved"])
    ran = effectgate("packs", "diff", "effects/notes.toml", "new/notes.toml", "--json")
    assert json.loads(ran.out)["changes"][0]["kind"] == "changed"
    assert effectgate("packs", "diff", "effects", "nowhere").code == 2


def test_what_a_pack_says_reaches_no_terminal(effectgate: Command, installation: Path) -> None:
    pack = installation / "effects" / "notes.toml"
    good = pack.read_text()
    pack.write_text(good.replace("version = 1", 'version = 1\n"\\u001b[31m" = 1'))
    ran = effectgate("packs", "lint")
    assert (ran.code, ran.out.count("\\u001b[31m")) == (1, 2)
    assert "\x1b" not in ran.out
    asked = good.replace('expect = "allow"', 'expect = "deny"').replace("v1/b/notes", "v1/b\\u009b/notes")
    pack.write_text(asked)
    ran = effectgate("packs", "test")
    assert ran.code == 1
    assert "\x9b" not in ran.out
    pack.rename(pack.with_name("a\x1b[31m.toml"))
    for command in ("lint", "test"):
        ran = effectgate("packs", command)
        assert ran.code
        assert "\x1b" not in ran.out + ran.err


def test_equal_shapes_and_too_many_are_faults(effectgate: Command, installation: Path) -> None:
    pack = installation / "effects" / "notes.toml"
    good = pack.read_text()
    row = '{ method = "GET", host = "notes.example.com", path = "/v1/{book}/notes" }'
    pack.write_text(good.replace(row, f"{row}, {row}"))
    assert "the same shape was already given as http[0]" in effectgate("packs", "lint").out
    pack.write_text(good.replace(row, ", ".join([row] * 5_000)))
    started = time.monotonic()
    assert "5000 shapes are more than the limit of 500" in effectgate("packs", "lint").out
    assert time.monotonic() - started < 10
