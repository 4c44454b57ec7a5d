"""The SQLite file under `state:`: its schema, its modes, and how it is opened for writing and for reading (design.md sections 5 and 6)."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from pathlib import Path
from typing import Final

from effectgate.receipts.store import StateModeError, StoreError

FILE_NAME: Final = "receipts.db"
SCHEMA_VERSION: Final = 1

# design.md section 5: below this every request is refused; a start wants STATE_SPACE.
FREE_FLOOR: Final = 1024 * 1024
STATE_SPACE: Final = 32 * 1024 * 1024

# `receipts` holds each receipt once, as the canonical JSON that the chain hashes. The other tables are not part of the evidence.
SCHEMA: Final = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS receipts(seq INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS heads(writer TEXT PRIMARY KEY, head TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens(
  hash TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, created TEXT NOT NULL, expires TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS revoked(hash TEXT PRIMARY KEY, revoked TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written(name TEXT, hash TEXT, PRIMARY KEY (name, hash)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes(what TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS limits(
  principal TEXT, name TEXT, window INTEGER NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (principal, name)
) WITHOUT ROWID;
INSERT OR IGNORE INTO changes VALUES ('tokens', 0);
PRAGMA user_version = 1;
COMMIT;
"""


def open_for_writing(path: Path, *, busy_seconds: float) -> sqlite3.Connection:
    """The store file, made 0600 in a 0700 directory where it is missing; WAL, durable at every commit. Raises StoreError."""
    private_directory(path.parent)
    try:
        _create(path)
    except OSError as fault:
        raise StoreError(f"{path} cannot be written: {fault.strerror}; mend the file or its directory") from fault
    try:
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=512
        )
        return _prepared(connection, path)
    except sqlite3.OperationalError as fault:  # locked, full, unreadable: the file itself may be sound
        raise StoreError(f"{path} cannot be opened: {fault}") from fault
    except sqlite3.Error as fault:
        raise StoreError(f"{path} is damaged: {fault}; move it away to begin a new store") from fault


def _create(path: Path) -> None:
    """Make the file, 0600, where it is missing; OSError where it may not be written. One that is there is never opened here, but by SQLite alone.

    Closing any descriptor of a file drops every POSIX lock that this process has on it ("How To Corrupt An SQLite Database File",
    2.2): the next program to close the store would unlink the WAL that we go on writing to.
    """
    if path.exists():
        if not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    else:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        sync_directory(path.parent)


def _prepared(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA_VERSION):
            raise StoreError(f"{path} has schema {version}, this program knows {SCHEMA_VERSION}; use the newer program")
        if version == 0:
            connection.executescript(SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def identity(path: Path) -> tuple[int, int]:
    """Which file a path names now: its device and inode. Raises OSError."""
    status = path.stat()
    return status.st_dev, status.st_ino


def open_for_reading(path: Path, *, busy_seconds: float = 5.0) -> sqlite3.Connection:
    """The store file, read only, also while a proxy writes it or where its directory is read only. Raises StoreError."""
    if not path.is_file():
        raise StoreError(f"{path} is missing; name a store file, such as var/{FILE_NAME}")
    # Without a WAL beside it the file is complete, and SQLite needs no shared memory, which a read-only directory cannot hold.
    settled = not path.with_name(path.name + "-wal").exists() and not os.access(path.parent, os.W_OK)
    address = f"{path.absolute().as_uri()}?{'immutable=1' if settled else 'mode=ro'}"
    try:
        connection = sqlite3.connect(address, uri=True, timeout=busy_seconds, isolation_level=None)
    except sqlite3.Error as fault:
        raise StoreError(f"{path} cannot be opened: {fault}") from fault
    try:
        require_tables(connection, path)
        connection.execute("SELECT 1 FROM receipts LIMIT 1")
    except StoreError:
        connection.close()
        raise
    except sqlite3.Error as fault:
        connection.close()
        raise StoreError(f"{path} is not a readable receipts store: {fault}") from fault
    return connection


def require_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError where a view or a virtual table stands for what is read: its rows may be computed, without end."""
    try:
        found = connection.execute(
            "SELECT name FROM sqlite_master WHERE lower(name) IN ('receipts', 'heads') AND (type <> 'table' OR rootpage = 0)"
        ).fetchone()
    except sqlite3.Error as fault:
        raise StoreError(f"{path} is not a readable receipts store: {fault}") from fault
    if found is not None:
        raise StoreError(f"{path}: {found[0]} is no table; name a store file that effectgate wrote")


def holds_receipts(path: Path) -> bool:
    """Whether a store file is there and has receipts; one that tokens alone have been written to has none. Raises StoreError."""
    if not path.exists():
        return False
    with contextlib.closing(open_for_reading(path)) as connection:
        return connection.execute("SELECT 1 FROM receipts LIMIT 1").fetchone() is not None


def private_directory(directory: Path) -> None:
    """Make the state directory 0700, or raise StateModeError where it stands open to others."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = directory.stat().st_mode & 0o777
    except OSError as fault:
        raise StoreError(f"{directory} cannot be made: {fault.strerror}") from fault
    if mode & 0o077:
        raise StateModeError(f"{directory} has mode {mode:04o}, others could reach the receipts; chmod 700 {directory}")


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable: a commit is worth nothing in a file that a power cut unnames."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_space(directory: Path) -> None:
    """Raise StoreError below FREE_FLOOR bytes free for us; a directory that is yet to be made has what its parent has."""
    while not directory.exists():
        directory = directory.parent
    space = os.statvfs(directory)
    free = space.f_bavail * space.f_frsize
    if free < FREE_FLOOR:
        raise StoreError(f"{directory} has {free} bytes free, the receipts need {FREE_FLOOR}; free some space")
