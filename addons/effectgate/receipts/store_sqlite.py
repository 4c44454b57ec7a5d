"""The embedded store: one SQLite file, WAL, durable at every commit; signs, chains and inserts on the committing thread (design.md section 5)."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from effectgate.receipts.head import Head, HeadError, head_of, read_head
from effectgate.receipts.record import Draft, Sealed, seal
from effectgate.receipts.store import Signer, Spend, SpentError, StoreError
from effectgate.receipts.store_chains import enrol, place_after
from effectgate.receipts.store_file import FILE_NAME, identity, open_for_writing, require_space
from effectgate.receipts.store_group import Entry, GroupCommit
from effectgate.receipts.store_spends import book

DEADLINE_SECONDS: Final = 5.0
# How long a commit waits for a lock that another connection holds; well inside the deadline of those who wait for it.
BUSY_SECONDS: Final = 2.0


def timestamp() -> str:
    """Now, RFC 3339, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class SqliteStore:
    """One writer's chain in `state`/receipts.db. A store that cannot be opened now is tried again at every commit."""

    def __init__(
        self,
        state: Path,
        signer: Signer,
        *,
        writer: str = "worker-1",
        clock: Callable[[], str] = timestamp,
        busy_seconds: float = BUSY_SECONDS,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self.path = state / FILE_NAME
        self._signer = signer
        self._writer = writer
        self._clock = clock
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._head: Head | None = None
        self._group = GroupCommit(self._commit, stuck_after=deadline)

    def append(self, draft: Draft, spends: tuple[Spend, ...] = ()) -> Future[Sealed]:
        """Queue a receipt; see Store."""
        return self._group.append(Entry(draft, spends))

    @property
    def fault(self) -> str:
        """Why the last commit failed; empty while the store works."""
        return self._group.fault

    def close(self) -> None:
        """Commit what waits, then close the file."""
        self._group.close()
        self._forget()

    def _commit(self, group: Sequence[Entry]) -> Sequence[Sealed | SpentError]:
        """Everything of a group in one transaction, or StoreError and nothing of it."""
        try:
            require_space(self.path.parent)
            return self._write(self._opened(), group)
        except BaseException as fault:
            self._forget()  # the next commit opens the file anew, so that a mended cause needs no restart
            if isinstance(fault, sqlite3.Error | OSError):
                raise StoreError(f"{self.path} cannot be written: {fault}") from fault
            raise

    def _opened(self) -> sqlite3.Connection:
        """The open file; opened anew where it was closed. A file put in its place while we hold it is noticed here."""
        if self._connection is not None and identity(self.path) != self._file:
            self._forget()
        if self._connection is None:
            if self._head is not None and not self.path.exists():
                raise StoreError(f"{self.path} has gone; put it back, or restart to begin a new store")
            connection = open_for_writing(self.path, busy_seconds=self._busy_seconds)
            try:
                self._head = self._resumed(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._file = connection, identity(self.path)
        return self._connection

    def _resumed(self, connection: sqlite3.Connection) -> Head:
        """The head to go on from. A store that holds less than we have written is refused: going on would hide the cut."""
        head = enrol(connection, self._writer, self._signer, self._clock, may_begin=self._head is None)
        known = self._head
        if known and (head.lamport < known.lamport or (head.lamport == known.lamport and head.digest != known.digest)):
            raise StoreError(f"{self.path} holds less than was written to it; put the newer file back")
        return head

    def _write(self, connection: sqlite3.Connection, group: Sequence[Entry]) -> Sequence[Sealed | SpentError]:
        sealed, head = self._sealed(group)  # before the lock is taken: nearly always all of it fits its limits
        connection.execute("BEGIN IMMEDIATE")
        try:
            refused = [book(connection, entry.spends) if entry.spends else None for entry in group]
            fitting = [entry for entry, refusal in zip(group, refused, strict=True) if refusal is None]
            if len(fitting) < len(group):
                sealed, head = self._sealed(fitting) if fitting else ([], head)
            if fitting:
                sealed, head = self._chained(connection, fitting, sealed, head)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if fitting:
            self._head = head
        receipts = iter(sealed)
        return [refusal or next(receipts) for refusal in refused]

    def _chained(
        self, connection: sqlite3.Connection, group: Sequence[Entry], sealed: list[Sealed], head: Head
    ) -> tuple[list[Sealed], Head]:
        """Write the receipts and the new head; sealed again where another process has put its own head there."""
        if not self._advanced(connection, head):
            self._adopt(connection)
            sealed, head = self._sealed(group)
            self._advanced(connection, head)
        _insert(connection, sealed)
        return sealed, head

    def _advanced(self, connection: sqlite3.Connection, head: Head) -> bool:
        """Put the new head in the place of the one we know; false where another process has put one there."""
        assert self._head is not None
        statement = "UPDATE heads SET head = ? WHERE writer = ? AND head = ?"
        return connection.execute(statement, (head.text(), self._writer, self._head.text())).rowcount == 1

    def _sealed(self, group: Sequence[Entry]) -> tuple[list[Sealed], Head]:
        assert self._head is not None
        place, sealed = place_after(self._head), []
        for entry in group:
            sealed.append(seal(entry.draft, place, self._signer.key_id, self._signer.sign))
            place = place.after(sealed[-1])
        return sealed, head_of(self._writer, sealed[-1], self._signer.key_id, self._signer.sign)

    def _adopt(self, connection: sqlite3.Connection) -> None:
        """Go on from the head that another process wrote to this chain; one behind ours is a file put back in time."""
        row = connection.execute("SELECT head FROM heads WHERE writer = ?", (self._writer,)).fetchone()
        try:
            head = read_head(row[0]) if row else None
        except HeadError as fault:
            raise StoreError(f"{self.path}: {fault}; put back a file that verifies") from fault
        if head is None or self._head is None or head.lamport <= self._head.lamport:
            raise StoreError(f"{self.path} holds less than was written to it; put the newer file back")
        self._head = head

    def _forget(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):  # nothing is lost: what was not committed has been refused
                connection.close()


def _insert(connection: sqlite3.Connection, sealed: Sequence[Sealed]) -> None:
    """All rows in one statement: each one lets go of the interpreter's lock, and a busy event loop is slow to give it back."""
    places = ",".join(["(?)"] * len(sealed))
    connection.execute(f"INSERT INTO receipts(body) VALUES {places}", [receipt.body.decode() for receipt in sealed])
