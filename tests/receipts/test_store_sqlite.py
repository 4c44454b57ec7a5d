"""The embedded store: durable or refused, whatever happens to its file, and working again when the cause has gone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scene import KEY, OTHER_KEY, TRUSTED, bodies, draft, filled, private

from effectgate.receipts import store_file
from effectgate.receipts.record import Sealed
from effectgate.receipts.store import Spend, StateModeError, StoreError
from effectgate.receipts.store_keys import publish
from effectgate.receipts.store_limits import used_so_far
from effectgate.receipts.store_reading import reading, verify_file
from effectgate.receipts.store_sqlite import SqliteStore
from effectgate.receipts.store_tokens import TokenStore
from effectgate.receipts.verify import Report, verify


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return private(tmp_path / "var")


@pytest.fixture
def store(state: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(state, KEY, busy_seconds=0.1)
    yield made
    made.close()


def put(store: SqliteStore, number: int) -> Sealed:
    """Append one receipt and wait for it."""
    return store.append(draft(number)).result(10)


def checked(state: Path) -> Report:
    with reading(state / "receipts.db") as reader:
        return verify(reader.rows(), reader.heads(), TRUSTED)


def in_another_process(state: Path, statement: str) -> tuple[Any, ...]:
    """The first row of a statement run, committed and closed by another program."""
    program = (
        "import json, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "print(json.dumps(connection.execute(sys.argv[2]).fetchone() or ()))\n"
        "connection.close()\n"
    )
    command = [sys.executable, "-c", program, str(state / "receipts.db"), statement]
    return tuple(json.loads(subprocess.run(command, timeout=20, check=True, capture_output=True).stdout))


def test_the_body_is_the_canonical_json_and_the_only_copy(state: Path, store: SqliteStore) -> None:
    sealed = put(store, 1)
    connection = sqlite3.connect(state / "receipts.db")
    columns = [row[1] for row in connection.execute("PRAGMA table_info(receipts)")]
    rows = connection.execute("SELECT seq, body FROM receipts ORDER BY seq").fetchall()
    connection.close()
    assert columns == ["seq", "body"]
    assert rows[-1] == (4, sealed.body.decode())


def test_durable_means_wal_and_full(state: Path, store: SqliteStore) -> None:
    put(store, 1)
    assert store._connection is not None
    assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert {file.stat().st_mode & 0o777 for file in state.iterdir()} == {0o600}


def test_a_restart_goes_on_with_the_chain(state: Path) -> None:
    for _ in range(3):
        filled(state, 4)
    report = checked(state)
    assert (report.faults, report.chains) == ((), {"supervisor": 2, "worker-1": 13})


def test_waiting_receipts_share_a_commit(state: Path, store: SqliteStore) -> None:
    put(store, 0)
    commits = 0
    write = store._write

    def counted(*args: object) -> object:
        nonlocal commits
        commits += 1
        return write(*args)  # type: ignore[arg-type]

    store._write = counted  # type: ignore[assignment, method-assign]
    with ThreadPoolExecutor(50) as pool:
        list(pool.map(lambda number: put(store, number), range(500)))
    assert commits < 250
    assert checked(state).exit_code == 0


def test_a_lone_receipt_does_not_wait(store: SqliteStore) -> None:
    put(store, 0)
    began = time.perf_counter()
    for number in range(20):
        put(store, number)
    assert (time.perf_counter() - began) / 20 < 0.05


def test_a_receipt_withdrawn_in_time_is_never_written(state: Path, store: SqliteStore) -> None:
    put(store, 0)
    lock = sqlite3.connect(state / "receipts.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    first, second = store.append(draft(1)), store.append(draft(2))
    second.cancel()
    lock.execute("ROLLBACK")
    lock.close()
    with pytest.raises(StoreError) if not _succeeded(first) else _nothing():
        first.result(10)
    put(store, 3)
    assert "dec-2" not in {receipt["decision_id"] for receipt in bodies(state / "receipts.db")}


def _succeeded(future: Future[Sealed]) -> bool:
    return future.exception(10) is None


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *fault: object) -> None: ...


def test_spends_are_written_with_the_receipt(state: Path, store: SqliteStore) -> None:
    store.append(draft(1), (Spend("ci", "requests", 60, 1),)).result(10)
    store.append(draft(2), (Spend("ci", "requests", 60, 1), Spend("ci", "upload_bytes", 60, 7))).result(10)
    assert used_so_far(state) == {("ci", "requests"): (60, 2), ("ci", "upload_bytes"): (60, 7)}


# Ways to break a store that works, each giving back the way to mend it.
def lock_it(state: Path) -> Callable[[], object]:
    lock = sqlite3.connect(state / "receipts.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")

    def unlock() -> None:
        lock.execute("ROLLBACK")
        lock.close()

    return unlock


def take_it_away(state: Path) -> Callable[[], object]:
    connection = sqlite3.connect(state / "receipts.db")
    connection.execute(
        "PRAGMA wal_checkpoint(TRUNCATE)"
    )  # what lies in the WAL would repair the file that we put there
    connection.close()
    (state / "receipts.db").rename(state / "away.db")
    return lambda: (state / "away.db").rename(state / "receipts.db")


def replace_it_by_nothing(state: Path) -> Callable[[], object]:
    mend = take_it_away(state)
    filled(state.parent / "empty", 1)
    shutil.copy(state.parent / "empty" / "receipts.db", state / "receipts.db")
    return mend


def replace_it_by_rubbish(state: Path) -> Callable[[], object]:
    mend = take_it_away(state)
    (state / "receipts.db").write_bytes(b"rubbish" * 5000)
    return mend


def open_the_directory(state: Path) -> Callable[[], object]:
    """Noticed when the file is opened anew, which any other fault brings about."""
    mend = take_it_away(state)
    state.chmod(0o755)

    def close() -> None:
        mend()
        state.chmod(0o700)

    return close


def drop_the_table(state: Path) -> Callable[[], object]:
    connection = sqlite3.connect(state / "receipts.db")
    connection.execute("ALTER TABLE receipts RENAME TO elsewhere")
    connection.commit()
    connection.close()

    def undo() -> None:
        connection = sqlite3.connect(state / "receipts.db")
        connection.execute("ALTER TABLE elsewhere RENAME TO receipts")
        connection.commit()
        connection.close()

    return undo


def cut_it(state: Path) -> Callable[[], object]:
    """The last receipt and the head of it go: what is left verifies, but this process has written more."""
    connection = sqlite3.connect(state / "receipts.db")
    older = filled(state.parent / "older", 2)
    kept = connection.execute("SELECT head FROM heads WHERE writer = 'worker-1'").fetchone()
    other = sqlite3.connect(older)
    connection.execute(
        "UPDATE heads SET head = ? WHERE writer = 'worker-1'",
        other.execute("SELECT head FROM heads WHERE writer = 'worker-1'").fetchone(),
    )
    connection.commit()
    other.close()

    def undo() -> None:
        connection.execute("UPDATE heads SET head = ? WHERE writer = 'worker-1'", kept)
        connection.commit()
        connection.close()

    return undo


@pytest.mark.parametrize(
    "break_it",
    [lock_it, take_it_away, replace_it_by_nothing, replace_it_by_rubbish, open_the_directory, drop_the_table, cut_it],
    ids=lambda f: f.__name__,
)
def test_a_broken_store_refuses_and_then_works_again(
    state: Path, store: SqliteStore, break_it: Callable[[Path], Callable[[], object]]
) -> None:
    for number in range(5):
        put(store, number)
    mend = break_it(state)
    for number in (5, 6):
        with pytest.raises(StoreError):
            put(store, number)
    assert store.fault
    mend()
    put(store, 7)
    assert store.fault == ""
    report = checked(state)
    assert (report.faults, report.chains["worker-1"]) == ((), 7)


@pytest.fixture
def ordinary_user() -> Iterator[Path]:
    """A directory of a user who is not root: root may write anywhere."""
    directory = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(directory, 65534, -1)
        os.seteuid(65534)
    yield directory
    if root:
        os.seteuid(0)
    shutil.rmtree(directory)


@pytest.mark.parametrize("begun", [False, True])
def test_a_read_only_directory(ordinary_user: Path, begun: bool) -> None:
    state = private(ordinary_user / "var")
    if begun:
        filled(state, 2)
    for path in (state, *state.iterdir()):
        path.chmod(0o500 if path is state else 0o400)
    store = SqliteStore(state, KEY)
    with pytest.raises(StoreError, match="cannot be written: Permission denied"):
        put(store, 1)
    for path in (state, *state.iterdir()):
        path.chmod(0o700 if path is state else 0o600)
    put(store, 2)
    store.close()
    assert checked(state).faults == ()


def test_a_corrupt_file_at_start(state: Path, store: SqliteStore) -> None:
    (state / "receipts.db").write_bytes(b"rubbish" * 5000)
    with pytest.raises(StoreError, match="move it away to begin a new store"):
        put(store, 1)
    (state / "receipts.db").unlink()
    put(store, 2)
    assert checked(state).exit_code == 0


def test_a_store_that_was_cut_while_we_were_away_is_not_continued(state: Path) -> None:
    """Going on would overwrite the head, the only witness of the cut."""
    file = filled(state, 5)
    connection = sqlite3.connect(file)
    connection.execute("DELETE FROM receipts WHERE seq > 6")
    connection.commit()
    connection.close()
    store = SqliteStore(state, KEY)
    with pytest.raises(StoreError, match="does not end where its signed head says"):
        put(store, 9)
    store.close()
    assert {fault.kind for fault in checked(state).faults} == {"cut tail"}


def test_a_directory_that_others_could_enter(state: Path) -> None:
    state.chmod(0o755)
    store = SqliteStore(state, KEY)
    with pytest.raises(StateModeError, match="chmod 700"):
        put(store, 1)
    store.close()


def test_a_newer_schema_is_left_alone(state: Path, store: SqliteStore) -> None:
    filled(state, 1)
    connection = sqlite3.connect(state / "receipts.db")
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(StoreError, match="schema 2, this program knows 1"):
        put(store, 1)


def test_below_the_floor_everything_is_refused(
    state: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, 1)
    monkeypatch.setattr(store_file, "FREE_FLOOR", 1 << 60)
    with pytest.raises(StoreError, match="bytes free, the receipts need"):
        put(store, 2)
    monkeypatch.undo()
    put(store, 3)


FULL = """
import resource, signal, sys
from pathlib import Path
from scene import KEY, draft
from effectgate.receipts.store import StoreError
from effectgate.receipts.store_sqlite import SqliteStore
from effectgate.receipts.store_tokens import TokenStore
store = SqliteStore(Path(sys.argv[1]), KEY)
store.append(draft(0)).result(10)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
written = refused = 0
for number in range(1000):
    try:
        store.append(draft(number)).result(10); written += 1
    except StoreError as fault:
        refused += 1
        if refused > 3: break
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
store.append(draft(5000)).result(10)
store.close()
print(written, refused)
"""


def test_a_full_disk_refuses_and_service_returns_with_space(state: Path) -> None:
    """A limit on the size of files stands in for a full disk: both end a write in the middle."""
    done = subprocess.run([sys.executable, "-c", FULL, str(state)], env=_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written, refused = map(int, done.stdout.split())
    assert written > 0
    assert refused > 3
    report = checked(state)
    assert (report.faults, report.chains["worker-1"]) == ((), written + 3)


def test_a_stuck_commit_refuses_those_behind_it(state: Path) -> None:
    store = SqliteStore(state, KEY, deadline=0.2)
    put(store, 0)
    hold = sqlite3.connect(state / "receipts.db", isolation_level=None)
    store._busy_seconds = 3
    store._forget()
    hold.execute("BEGIN IMMEDIATE")
    first = store.append(draft(1))
    time.sleep(0.4)
    with pytest.raises(StoreError, match=r"one commit has taken more than 0\.2 s"):
        store.append(draft(2)).result(1)
    hold.execute("ROLLBACK")
    hold.close()
    first.result(10)
    put(store, 3)
    store.close()


def test_a_closed_store_refuses(state: Path, store: SqliteStore) -> None:
    waiting = [store.append(draft(number)) for number in range(20)]
    store.close()
    assert all(future.exception(0) is None for future in waiting)
    with pytest.raises(StoreError, match="closed"):
        put(store, 1)


def test_another_process_may_write_the_same_chain(state: Path, store: SqliteStore) -> None:
    """Two services on one state directory cannot fork it: each goes on from what is there."""
    other = SqliteStore(state, KEY)
    for number in range(10):
        put(store, number)
        put(other, number + 100)
    other.close()
    assert (checked(state).faults, checked(state).chains["worker-1"]) == ((), 21)


def test_a_new_key_goes_on_with_the_chain(tmp_path: Path, state: Path) -> None:
    filled(state, 2)
    store = SqliteStore(state, OTHER_KEY)
    put(store, 5)
    store.close()
    publish(tmp_path / "old.json", KEY)
    assert "untrusted key" in {fault.kind for fault in verify_file(state / "receipts.db", tmp_path / "old.json").faults}


def test_kill_under_load_loses_nothing_that_was_told(state: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "writer_process.py"), str(state)],
        env=_environment(),
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    told = [process.stdout.readline().decode().strip() for _ in range(200)]
    process.send_signal(signal.SIGKILL)
    told += process.stdout.read().decode().split("\n")[:-1]
    process.wait(10)
    process.stdout.close()
    report = checked(state)
    assert report.faults == ()
    on_disk = {receipt["receipt_id"] for receipt in bodies(state / "receipts.db")}
    assert {receipt_id for receipt_id in told if len(receipt_id) == 64} <= on_disk
    filled(state, 3)
    assert checked(state).faults == ()


def test_reading_works_while_a_proxy_writes(state: Path, store: SqliteStore) -> None:
    put(store, 1)
    with reading(state / "receipts.db") as reader:
        before = reader.last_seq()
        put(store, 2)
        assert len(list(reader.rows())) == before  # one snapshot
        assert reader.last_seq() == before
    with reading(state / "receipts.db") as reader:
        assert [receipt["decision_id"] for _, receipt in reader.latest(2)] == ["dec-1", "dec-2"]
        assert [seq for seq, _ in reader.receipts(after=before)] == [before + 1]


def test_a_receipt_is_found_with_its_completion(state: Path, store: SqliteStore) -> None:
    from effectgate.receipts.drafts import completion

    allowed = draft(1, "ALLOW")
    sealed = store.append(allowed).result(10)
    closing = completion(
        timestamp="t", allowed=allowed, receipt_id=sealed.receipt_id, principal="p", output={"success": True}
    )
    store.append(closing).result(10)
    put(store, 2)
    with reading(state / "receipts.db") as reader:
        assert [receipt["kind"] for receipt in reader.find(sealed.receipt_id[:12])] == ["decision", "completion"]
        assert reader.find("zz") == []


def test_reading_needs_no_key_and_no_write_access(tmp_path: Path, state: Path) -> None:
    copy = shutil.copy(filled(state, 3), tmp_path / "copy.db")
    assert verify_file(Path(copy)).receipts == 6
    with pytest.raises(StoreError, match="is missing"):
        verify_file(tmp_path / "none.db")
    (tmp_path / "text").write_text("no database")
    with pytest.raises(StoreError, match="not a readable receipts store"):
        verify_file(tmp_path / "text")


def _environment() -> dict[str, str]:
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def test_a_reopened_store_keeps_its_lock_so_that_no_other_program_unlinks_its_wal(
    state: Path, store: SqliteStore
) -> None:
    """A descriptor of the file, opened and closed beside SQLite, would drop the lock that says: somebody uses this WAL."""
    put(store, 1)
    tokens = TokenStore(state)
    assert tokens.digests("nobody") == ()
    with closing(sqlite3.connect(state / "receipts.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError):
            put(store, 2)
        other.execute("ROLLBACK")
    put(store, 3)
    in_another_process(state, "DELETE FROM tokens")
    sealed = put(store, 4)
    assert in_another_process(state, "SELECT max(seq), body FROM receipts")[1] == sealed.body.decode()
    tokens.close()
