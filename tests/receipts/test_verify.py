"""One forgery a case, each named by what it is; the store file is altered as someone without the key could."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from scene import DRAFT, KEY, OTHER_KEY, draft, filled, private

from effectgate.receipts.canonical import canonical
from effectgate.receipts.drafts import completion
from effectgate.receipts.head import head_of, read_head
from effectgate.receipts.record import Place, Sealed, seal
from effectgate.receipts.store import StoreError
from effectgate.receipts.store_keys import publish
from effectgate.receipts.store_reading import reading, verify_file
from effectgate.receipts.store_sqlite import SqliteStore

COUNT = 12  # decisions; the file holds three more: two geneses and the receipt that names one
Forge = Callable[[sqlite3.Connection], None]


@pytest.fixture
def trust(tmp_path: Path) -> Path:
    file = tmp_path / "trust.json"
    publish(file, KEY)
    return file


def body(store: sqlite3.Connection, seq: int) -> str:
    return str(store.execute("SELECT body FROM receipts WHERE seq = ?", (seq,)).fetchone()[0])


def put(store: sqlite3.Connection, seq: int, text: str) -> None:
    store.execute("INSERT OR REPLACE INTO receipts(seq, body) VALUES (?, ?)", (seq, text))


def edit_a_word(store: sqlite3.Connection) -> None:
    put(store, 8, body(store, 8).replace("ci-fixer", "ci-fixed"))


def edit_the_verdict_and_every_hash(store: sqlite3.Connection) -> None:
    """A careful forger recomputes the content address; only the signature stands against it."""
    receipt = json.loads(body(store, 8))
    forged = seal(
        replace(DRAFT, verdict="ALLOW", status="ALLOW"),
        Place(receipt["writer"], receipt["lamport_clock"], receipt["prev_hash"]),
        KEY.key_id,
        lambda message: bytes(64),
    )
    put(store, 8, forged.body.decode())


def sign_with_another_key(store: sqlite3.Connection) -> None:
    receipt = json.loads(body(store, 8))
    place = Place(receipt["writer"], receipt["lamport_clock"], receipt["prev_hash"])
    put(store, 8, seal(DRAFT, place, OTHER_KEY.key_id, OTHER_KEY.sign).body.decode())


def cut_the_tail(store: sqlite3.Connection) -> None:
    store.execute("DELETE FROM receipts WHERE seq > 12")


def cut_everything_but_the_heads(store: sqlite3.Connection) -> None:
    store.execute("DELETE FROM receipts")


def remove_one(store: sqlite3.Connection) -> None:
    store.execute("DELETE FROM receipts WHERE seq = 8")


def remove_the_genesis(store: sqlite3.Connection) -> None:
    store.execute("DELETE FROM receipts WHERE seq = 2")


def remove_a_whole_writer(store: sqlite3.Connection) -> None:
    store.execute('DELETE FROM receipts WHERE body LIKE \'%"writer":"worker-1"}\'')
    store.execute("DELETE FROM heads WHERE writer = 'worker-1'")


def remove_the_supervisor(store: sqlite3.Connection) -> None:
    store.execute('DELETE FROM receipts WHERE body LIKE \'%"writer":"supervisor"}\'')
    store.execute("DELETE FROM heads WHERE writer = 'supervisor'")


def swap_two(store: sqlite3.Connection) -> None:
    seventh, eighth = body(store, 7), body(store, 8)
    put(store, 7, eighth)
    put(store, 8, seventh)


def swap_far_apart(store: sqlite3.Connection) -> None:
    fifth, last = body(store, 5), body(store, 14)
    put(store, 5, last)
    put(store, 14, fifth)


def replay_one(store: sqlite3.Connection) -> None:
    put(store, 16, body(store, 8))


def insert_from_another_store(store: sqlite3.Connection) -> None:
    """A genuine receipt, signed by the trusted key, in a place where its chain never had one."""
    put(store, 16, seal(DRAFT, Place("worker-1", 14, "cd" * 32), KEY.key_id, KEY.sign).body.decode())


def insert_beside(store: sqlite3.Connection) -> None:
    put(store, 16, seal(DRAFT, Place("worker-1", 6, "cd" * 32), KEY.key_id, KEY.sign).body.decode())


def damage_the_head(store: sqlite3.Connection) -> None:
    head = read_head(store.execute("SELECT head FROM heads WHERE writer = 'worker-1'").fetchone()[0])
    store.execute("UPDATE heads SET head = ? WHERE writer = 'worker-1'", (replace(head, signature="00" * 64).text(),))


def write_no_hash_into_the_head(store: sqlite3.Connection) -> None:
    (text,) = store.execute("SELECT head FROM heads WHERE writer = 'worker-1'").fetchone()
    head = {**json.loads(text), "receipt_hash": "zz"}
    store.execute("UPDATE heads SET head = ? WHERE writer = 'worker-1'", (canonical(head).decode(),))


def drop_the_head(store: sqlite3.Connection) -> None:
    store.execute("DELETE FROM heads WHERE writer = 'worker-1'")


def write_rubbish(store: sqlite3.Connection) -> None:
    put(store, 8, "no JSON at all")


def complete_nothing(store: sqlite3.Connection) -> None:
    """Signed and linked, as a faulty program of ours would leave it."""
    last = json.loads(body(store, 15))
    closing = completion(timestamp="t", allowed=DRAFT, receipt_id="ab" * 32, principal="p", output={"success": True})
    sealed = seal(closing, Place("worker-1", last["lamport_clock"] + 1, _digest(body(store, 15))), KEY.key_id, KEY.sign)
    put(store, 16, sealed.body.decode())
    _end(store, sealed)


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


def _end(store: sqlite3.Connection, sealed: Sealed) -> None:
    head = head_of("worker-1", sealed, KEY.key_id, KEY.sign)
    store.execute("UPDATE heads SET head = ? WHERE writer = 'worker-1'", (head.text(),))


FORGERIES: list[tuple[Forge, set[str]]] = [
    (edit_a_word, {"edit"}),
    (write_rubbish, {"edit", "removed"}),  # a row that names no place leaves its place empty
    (edit_the_verdict_and_every_hash, {"bad signature"}),
    (sign_with_another_key, {"untrusted key"}),
    (cut_the_tail, {"cut tail"}),
    (cut_everything_but_the_heads, {"cut tail", "missing genesis"}),
    (remove_one, {"removed"}),
    (remove_the_genesis, {"missing genesis"}),
    (remove_a_whole_writer, {"missing genesis", "head"}),
    (remove_the_supervisor, {"missing genesis", "head"}),
    (swap_two, {"swap"}),
    (swap_far_apart, {"swap"}),
    (replay_one, {"replay"}),
    (insert_from_another_store, {"insert"}),
    (insert_beside, {"insert"}),
    (damage_the_head, {"head"}),
    (write_no_hash_into_the_head, {"head"}),
    (drop_the_head, {"head"}),
    (complete_nothing, {"orphan"}),
]


@pytest.mark.parametrize(("forge", "kinds"), FORGERIES, ids=lambda value: getattr(value, "__name__", ""))
def test_forgery(tmp_path: Path, trust: Path, forge: Forge, kinds: set[str]) -> None:
    file = filled(tmp_path / "state", COUNT)
    store = sqlite3.connect(file)
    forge(store)
    store.commit()
    store.close()
    report = verify_file(file, trust)
    assert {fault.kind for fault in report.faults} == kinds
    assert len(report.faults) == len(kinds)
    assert report.exit_code == 1


def test_an_intact_store(tmp_path: Path, trust: Path) -> None:
    report = verify_file(filled(tmp_path / "state", COUNT), trust)
    assert (report.faults, report.receipts, report.exit_code) == ((), COUNT + 3, 0)
    assert report.chains == {"supervisor": 2, "worker-1": COUNT + 1}
    assert "tail not proven: no --anchor" in report.lines()


def test_without_a_trust_file_it_is_intact_and_not_trusted(tmp_path: Path) -> None:
    report = verify_file(filled(tmp_path / "state", 2))
    assert (report.intact, report.trusted, report.exit_code) == (True, False, 1)
    assert any(line.startswith("intact, not trusted") for line in report.lines())


def test_an_older_copy_is_caught_by_the_anchor_alone(tmp_path: Path, trust: Path) -> None:
    """The whole file of an hour ago verifies by itself: only what was kept elsewhere shows the cut."""
    file, anchor = filled(tmp_path / "state", 5), tmp_path / "anchor.json"
    older = file.read_bytes()
    filled(tmp_path / "state", 5)
    with reading(file) as store:
        anchor.write_text(store.anchor())
    assert verify_file(file, trust, anchor).exit_code == 0
    file.write_bytes(older)
    assert verify_file(file, trust).exit_code == 0
    report = verify_file(file, trust, anchor)
    assert [fault.kind for fault in report.faults] == ["cut tail"]


def test_an_anchor_of_another_store(tmp_path: Path, trust: Path) -> None:
    file, anchor = filled(tmp_path / "state", 5), tmp_path / "anchor.json"
    with reading(filled(tmp_path / "other", 6)) as store:
        anchor.write_text(store.anchor())
    assert {fault.kind for fault in verify_file(file, trust, anchor).faults} == {"cut tail", "edit"}


def test_an_anchor_that_nobody_signed(tmp_path: Path, trust: Path) -> None:
    file, anchor = filled(tmp_path / "state", 1), tmp_path / "anchor.json"
    with reading(file) as store:
        anchor.write_text(store.anchor().replace('"signature":"', '"signature":"00', 1))
    assert "head" in {fault.kind for fault in verify_file(file, trust, anchor).faults}


def test_an_anchor_proves_the_past_of_a_store_that_went_on(tmp_path: Path, trust: Path) -> None:
    file, anchor = filled(tmp_path / "state", 3), tmp_path / "anchor.json"
    with reading(file) as store:
        anchor.write_text(store.anchor())
    filled(tmp_path / "state", 3)
    report = verify_file(file, trust, anchor)
    assert (report.exit_code, report.anchored) == (0, True)


def test_two_writers_share_a_file(tmp_path: Path, trust: Path) -> None:
    state = private(tmp_path / "state")
    stores = [SqliteStore(state, KEY, writer=f"worker-{n}") for n in (1, 2)]
    waiting = [store.append(draft(number)) for number in range(40) for store in stores]
    for future in waiting:
        future.result(10)
    for store in stores:
        store.close()
    report = verify_file(state / "receipts.db", trust)
    assert (report.exit_code, report.chains) == (0, {"supervisor": 3, "worker-1": 41, "worker-2": 41})


def test_open_allows_are_counted(tmp_path: Path, trust: Path) -> None:
    store = SqliteStore(private(tmp_path / "state"), KEY)
    allowed = [draft(number, "ALLOW") for number in range(3)]
    sealed = [store.append(each).result(10) for each in allowed]
    closing = completion(
        timestamp="t", allowed=allowed[0], receipt_id=sealed[0].receipt_id, principal="p", output={"success": True}
    )
    store.append(closing).result(10)
    store.close()
    report = verify_file(tmp_path / "state" / "receipts.db", trust)
    assert (report.exit_code, report.open_allows) == (0, 2)


@pytest.mark.parametrize("clock", [2**53 - 1, 10_000_020])
def test_a_row_far_ahead_costs_no_memory(tmp_path: Path, clock: int) -> None:
    file = filled(tmp_path / "state", 1)
    store = sqlite3.connect(file)
    put(store, 9, seal(DRAFT, Place("worker-1", clock, "cd" * 32), "anyone", lambda message: bytes(64)).body.decode())
    store.commit()
    store.close()
    assert [fault.kind for fault in verify_file(file).faults] == ["insert"]


def test_canonical_rows_only(tmp_path: Path, trust: Path) -> None:
    """The same members in another spelling are an edit: otherwise two files would tell one story."""
    file = filled(tmp_path / "state", 1)
    store = sqlite3.connect(file)
    receipt = json.loads(body(store, 4))
    assert canonical(receipt).decode() == body(store, 4)
    put(store, 4, json.dumps(receipt))
    store.commit()
    store.close()
    assert [fault.kind for fault in verify_file(file, trust).faults] == ["edit"]


@pytest.mark.parametrize("table", ["receipts", "heads"])
def test_a_view_is_no_table(tmp_path: Path, table: str) -> None:
    """It could answer without end; this one ends, so that the test does where the view is read."""
    file = tmp_path / "receipts.db"
    with sqlite3.connect(file) as store:
        store.execute("CREATE TABLE receipts(seq, body)")
        store.execute("CREATE TABLE heads(writer, head)")
        store.execute(f"DROP TABLE {table}")
        store.execute(
            f"CREATE VIEW {table} AS WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 9) "
            "SELECT seq, '{}' AS body, '{}' AS head, seq AS writer FROM n"
        )
    store.close()
    with pytest.raises(StoreError, match=f"{table} is no table"):
        verify_file(file)
