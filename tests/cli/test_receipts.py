"""`effectgate receipts` and `effectgate denials`, on a store that the boundary has written."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.conftest import Command
from effectgate.app.reading import read_all
from effectgate.boundary import Caller, EffectBoundary, Outcome
from effectgate.cli.denials import CANARY
from effectgate.policy.facts import facts_from_url
from effectgate.policy.grants_file import RESERVED_NAME
from effectgate.policy.rulebook import Rulebook
from effectgate.proxy.canary import PRINCIPAL
from effectgate.receipts import store_reading
from effectgate.receipts.evidence import Evidence
from effectgate.receipts.store_keys import installation_key, publish, signing_key
from effectgate.receipts.store_limits import Ledger, used_so_far
from effectgate.receipts.store_sqlite import SqliteStore

ADDONS = Path(__file__).parents[2] / "addons"


@pytest.fixture
def recorded(installation: Path) -> Path:
    """An installation in which ci-fixer read once and tried to write twice."""
    state = installation / "var"
    key = signing_key(state)
    (installation / "certs").mkdir()
    publish(installation / "certs" / "receipt-trust.json", key)
    asyncio.run(_record(state, SqliteStore(state, key)))
    return installation


async def _record(state: Path, store: SqliteStore) -> None:
    loaded = read_all(None, datetime.now(UTC))
    rules = Rulebook(loaded.policy.catalog, loaded.grants)
    boundary = EffectBoundary(rules, store, Evidence(installation_key(state)), Ledger(lambda: used_so_far(state)))
    caller = Caller("ci-fixer")
    read = await boundary.submit(caller, facts_from_url("GET", "https://notes.example.com/v1/mine/notes"))
    assert read.allowed
    await boundary.complete(read, Outcome(True, 200))
    for _ in range(2):
        await boundary.submit(caller, facts_from_url("POST", "https://notes.example.com/v1/mine/notes\x1b"[:-1]))
    await boundary.close()
    store.close()


def test_receipts_are_listed_shown_and_verified(effectgate: Command, recorded: Path) -> None:
    listed = effectgate("receipts", "list")
    assert "ALLOW    notes/read" in listed.out
    rows = json.loads(effectgate("receipts", "list", "-n", "3", "--json").out)
    assert [row["verdict"] for row in rows[-2:]] == ["DENY", "DENY"]
    allow = next(row for row in json.loads(effectgate("receipts", "list", "--json").out) if row["verdict"] == "ALLOW")
    shown = json.loads(effectgate("receipts", "show", allow["receipt_id"][:12], "--json").out)
    assert [receipt["kind"] for receipt in shown] == ["decision", "completion"]
    assert effectgate("receipts", "show", "ffffffffffffffffffff").code == 1
    several = effectgate("receipts", "show", "")
    assert (several.code, several.err.count("\n"), "write more of the id" in several.err) == (1, 1, True)
    assert "completion              200, 0 bytes sent, 0 received, 0 ms" in listed.out
    ran = effectgate("receipts", "verify")
    assert ran.code == 0
    assert "intact, trusted" in ran.out


def test_a_store_of_strangers_is_listed_and_verified_without_a_traceback(effectgate: Command, recorded: Path) -> None:
    with sqlite3.connect(recorded / "var" / "receipts.db") as store:
        rows = store.execute("SELECT seq, body FROM receipts").fetchall()
        store.execute("DROP TABLE receipts")
        store.execute("CREATE TABLE receipts(seq, body)")
        store.executemany("INSERT INTO receipts VALUES (?, ?)", rows)
        store.execute("UPDATE receipts SET body = NULL WHERE seq = 3")
        store.execute("""UPDATE receipts SET body = '{"args": [1], "policy": 2, "verdict": "ALLOW"}' WHERE seq = 4""")
    store.close()
    assert effectgate("receipts", "list").code == 0
    ran = effectgate("receipts", "verify")
    assert ran.code == 1
    assert "edit: row 3" in ran.out


def test_half_of_a_surrogate_pair_is_shown_as_an_escape(recorded: Path) -> None:
    """As a process of its own: what matters is what its stdout can encode."""
    with sqlite3.connect(recorded / "var" / "receipts.db") as store:
        body = '{"receipt_id": "feed0000", "kind": "decision", "reason": "\\ud800 \\ud83d\\ude00"}'
        store.execute("UPDATE receipts SET body = ? WHERE seq = 3", (body,))
    store.close()
    command = [sys.executable, "-m", "effectgate", "receipts", "show", "feed0000", "--json"]
    environment = {"PYTHONPATH": str(ADDONS), "PATH": "/usr/bin:/bin"}
    for encoding in ("utf-8", "ascii"):
        ran = subprocess.run(
            command, env={**environment, "PYTHONIOENCODING": encoding}, capture_output=True, check=False
        )
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert json.loads(ran.stdout)[0]["reason"] == "\ud800 \U0001f600"


def test_verify_needs_trust_and_names_a_forgery(effectgate: Command, recorded: Path) -> None:
    trust = recorded / "certs" / "receipt-trust.json"
    kept = trust.rename(recorded / "kept.json")
    untrusted = effectgate("receipts", "verify")
    assert untrusted.code == 1
    assert "intact, not trusted" in untrusted.out
    assert effectgate("receipts", "verify", "--trust", str(kept)).code == 0
    with sqlite3.connect(recorded / "var" / "receipts.db") as store:
        store.execute("UPDATE receipts SET body = replace(body, 'notes/read', 'notes/raed')")
    store.close()
    forged = effectgate("receipts", "verify", "--trust", str(kept), "--json")
    assert forged.code == 1
    assert json.loads(forged.out)["faults"]


def test_an_anchor_proves_the_tail(effectgate: Command, recorded: Path) -> None:
    assert effectgate("receipts", "verify", "--write-anchor", "anchor.json").code == 0
    assert "the tail is proven" in effectgate("receipts", "verify", "--anchor", "anchor.json").out


def test_files_that_are_not_there_are_exit_2(effectgate: Command) -> None:
    for arguments in (("list",), ("verify",), ("verify", "--store", "missing.db"), ("show", "aa")):
        ran = effectgate("receipts", *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.count("\n") == 1


def test_denials_are_grouped_by_what_would_admit_them(effectgate: Command, recorded: Path) -> None:
    ran = effectgate("denials")
    assert "notes/write (publish)  2 times" in ran.out
    (group,) = json.loads(effectgate("denials", "--json").out)
    assert (group["effects"], group["count"], len(group["requests"])) == (["notes/write"], 2, 1)
    assert json.loads(effectgate("denials", "--json", "--agent", "other").out) == []


def test_the_canary_is_the_proxys() -> None:
    assert CANARY == PRINCIPAL == RESERVED_NAME


def _plant(installation: Path, body: str) -> None:
    with sqlite3.connect(installation / "var" / "receipts.db") as store:
        store.execute("UPDATE receipts SET body = ? WHERE seq = 3", (body,))
    store.close()


def test_what_an_agent_wrote_reaches_no_terminal(effectgate: Command, recorded: Path) -> None:
    _plant(recorded, '{"receipt_id": "feed0000", "kind": "decision", "reason": "\x9b31m \u202e \x7f \U000e0001 ä"}')
    for option in ((), ("--json",)):
        ran = effectgate("receipts", "show", "feed0000", *option)
        assert ran.out.replace("\n", "").isprintable()
        shown = json.loads(ran.out)
        receipt = shown[0] if option else shown
        assert receipt["reason"] == "\x9b31m \u202e \x7f \U000e0001 ä"


def test_a_completion_of_a_stranger_is_listed(effectgate: Command, recorded: Path) -> None:
    for output in ('"text"', "[1]"):
        _plant(recorded, f'{{"receipt_id": "feed0000", "kind": "completion", "output": {output}}}')
        assert effectgate("receipts", "list").code == 0


def test_an_allow_of_a_stranger_is_shown(effectgate: Command, recorded: Path) -> None:
    for decision in ("", ', "decision_id": [1]'):
        _plant(recorded, f'{{"receipt_id": "feed0000", "kind": "decision", "verdict": "ALLOW"{decision}}}')
        assert effectgate("receipts", "show", "feed0000").code == 0


def test_an_anchor_has_the_heads_that_were_verified(
    effectgate: Command, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the check and the writing somebody alters the file."""
    opened = store_reading.reading
    effectgate("receipts", "verify", "--write-anchor", "before.json")

    @contextlib.contextmanager
    def altered(path: Path) -> Iterator[store_reading.StoreReader]:
        with opened(path) as reader:
            yield reader
        with sqlite3.connect(path) as store:
            store.execute("DELETE FROM heads")
        store.close()

    monkeypatch.setattr(store_reading, "reading", altered)
    assert effectgate("receipts", "verify", "--write-anchor", "after.json").code == 0
    assert Path("after.json").read_text() == Path("before.json").read_text()
