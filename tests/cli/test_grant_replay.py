"""`grant propose --from-receipts`, `--from-allowlist` and `grant replay`, on a store that the boundary has written."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.conftest import Command
from effectgate.app.reading import read_all
from effectgate.boundary import Caller, EffectBoundary
from effectgate.policy.facts import facts_from_url
from effectgate.policy.rulebook import Rulebook
from effectgate.receipts.evidence import Evidence, PathMode
from effectgate.receipts.store_keys import installation_key, signing_key
from effectgate.receipts.store_limits import Ledger, used_so_far
from effectgate.receipts.store_sqlite import SqliteStore

ASKED = [
    ("GET", "https://notes.example.com/v1/mine/notes"),
    ("GET", "https://notes.example.com/v1/yours/notes"),
    ("POST", "https://notes.example.com/v1/mine/notes"),
    ("GET", "https://unknown.example.org/"),
]


@pytest.fixture(params=["full"])
def asked(installation: Path, request: pytest.FixtureRequest) -> Path:
    """An installation in which ci-fixer, which may read one book, asked four things."""
    asyncio.run(_ask(installation / "var", request.param))
    return installation


async def _ask(state: Path, paths: PathMode) -> None:
    loaded = read_all(None, datetime.now(UTC))
    store = SqliteStore(state, signing_key(state))
    rules = Rulebook(loaded.policy.catalog, loaded.grants)
    evidence = Evidence(installation_key(state), paths)
    boundary = EffectBoundary(rules, store, evidence, Ledger(lambda: used_so_far(state)))
    for method, url in ASKED:
        await boundary.submit(Caller("ci-fixer"), facts_from_url(method, url))
    await boundary.close()
    store.close()


def test_the_least_grant_admits_what_was_seen_and_names_the_rest(effectgate: Command, asked: Path) -> None:
    ran = effectgate("grant", "propose", "--from-receipts", "--agent", "ci-fixer")
    assert (ran.code, ran.err) == (0, "")
    assert 'where: {book: ["mine", "yours"]}' in ran.out
    assert "#   notes/write: its risk publish is above read" in ran.out
    assert "#   GET unknown.example.org (once): no effect names it" in ran.out
    (asked / "proposed.yaml").write_text(ran.out)
    replayed = effectgate("grant", "replay", "--grants", "proposed.yaml", "--json")
    assert replayed.code == 1
    told = json.loads(replayed.out)
    assert {kind: told[kind] for kind in ("same", "changed", "untold")} == {"same": 3, "changed": 1, "untold": 0}
    assert (told["requests"][1]["was"], told["requests"][1]["now"]) == ("ESCALATE", "ALLOW")


def test_the_grant_in_force_answers_the_same(effectgate: Command, asked: Path) -> None:
    ran = effectgate("grant", "replay")
    assert (ran.code, ran.out) == (0, "4 same, 0 changed, 0 untold\n")


def test_effects_and_what_changed_in_words(effectgate: Command, asked: Path) -> None:
    ran = effectgate("grant", "replay", "--effects", "notes/write")
    assert ran.code == 1
    assert "ALLOW -> DENY      1  GET notes.example.com/v1/mine/notes: GET notes.example.com" in ran.out
    assert ran.out.endswith("2 same, 2 changed, 0 untold\n")


@pytest.mark.parametrize("asked", ["hash", "template"], indirect=True)
def test_a_path_that_was_not_kept_is_said_so(effectgate: Command, asked: Path) -> None:
    ran = effectgate("grant", "replay")
    assert ran.code == 0
    assert "receipts.path" in ran.out
    proposed = json.loads(effectgate("grant", "propose", "--from-receipts", "--json").out)
    assert [(entry["effect"], entry["where"]) for entry in proposed["effects"]] == [("notes/read", {})]


def test_an_allowlist(effectgate: Command, installation: Path) -> None:
    (installation / "hosts.txt").write_text("notes.example.com\n*\nother.example.org\n")
    ran = effectgate("grant", "propose", "--from-allowlist", "hosts.txt")
    assert ran.code == 0
    assert "# notes.example.com: Read notes; Write a note (1 read, 1 publish)." in ran.out
    assert "#   *: host '*' is every host" in ran.out
    told = json.loads(effectgate("grant", "propose", "--from-allowlist", "hosts.txt", "--json").out)
    assert [(host["entry"], host["carried"], host["proposed"]) for host in told["hosts"]] == [
        ("notes.example.com", True, ["notes/read"]), ("*", False, []), ("other.example.org", False, []),
    ]  # fmt: skip
    (installation / "grants.yaml").write_text(ran.out)
    assert effectgate("grant", "check").code == 0


FAILURES = [
    (("propose", "--from-allowlist", "missing.txt"), 2, "cannot be read"),
    (("propose", "--from-allowlist", "empty.txt"), 1, "has no entry"),
    (("propose", "--from-receipts"), 2, "name a store file"),
    (("replay",), 2, "name a store file"),
]


@pytest.mark.parametrize(("options", "code", "message"), FAILURES)
def test_what_fails_names_the_remedy(
    effectgate: Command, installation: Path, options: tuple[str, ...], code: int, message: str
) -> None:
    (installation / "empty.txt").write_text("# none\n")
    ran = effectgate("grant", *options)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


def test_an_agent_without_receipts(effectgate: Command, asked: Path) -> None:
    assert effectgate("grant", "replay", "--agent", "nobody").code == 1
    assert effectgate("grant", "propose", "--from-receipts", "--agent", "nobody").code == 1
    assert effectgate("grant", "replay", "--grants", "grants.yaml", "--effects", "notes/read").code == 2
