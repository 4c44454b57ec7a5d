"""The chains of one store: how a writer begins its own, named in the supervisor's, and how it goes on (design.md section 5)."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Mapping
from typing import Final

from effectgate.receipts.canonical import canonical
from effectgate.receipts.chain import SUPERVISOR
from effectgate.receipts.head import Head, HeadError, head_of, read_head
from effectgate.receipts.record import Draft, Kind, Place, RecordError, Sealed, read_receipt, seal
from effectgate.receipts.store import Signer, StoreError

# How far back from the end of the file a writer's last receipt is looked for; other writers' rows may follow it.
TAIL_ROWS: Final = 10_000


def place_after(head: Head) -> Place:
    """The place behind a head."""
    return Place(head.writer, head.lamport + 1, head.digest)


def enrol(
    connection: sqlite3.Connection, writer: str, signer: Signer, clock: Callable[[], str], *, may_begin: bool
) -> Head:
    """The head of a writer's chain; where there is none, its genesis, which a receipt in the supervisor's chain names. Raises StoreError."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        begin = _Beginning(connection, signer, clock, may_begin)
        head = begin.chain(writer)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return head


class _Beginning:
    """One transaction in which chains begin."""

    def __init__(
        self, connection: sqlite3.Connection, signer: Signer, clock: Callable[[], str], may_begin: bool
    ) -> None:
        self._connection = connection
        self._signer = signer
        self._clock = clock
        self._may_begin = may_begin

    def chain(self, writer: str) -> Head:
        """The head of `writer`, its chain begun where it has none."""
        if head := self._head(writer):
            return head
        if not self._may_begin:
            raise StoreError("the store no longer holds the chain that was written to it; put the newer file back")
        supervisor = self._head(SUPERVISOR) or self._begin_store()
        genesis, head = self._append(Place(writer), "genesis", {"writer": writer})
        named = {"writer": writer, "genesis": genesis.receipt_id}
        self._append(place_after(supervisor), "writer", named)
        return head

    def _begin_store(self) -> Head:
        if self._connection.execute("SELECT 1 FROM receipts LIMIT 1").fetchone():
            raise StoreError("the store holds receipts and no signed head; put back a file that verifies")
        return self._append(Place(SUPERVISOR), "genesis", {"writer": SUPERVISOR})[1]

    def _append(self, place: Place, kind: Kind, args: Mapping[str, object]) -> tuple[Sealed, Head]:
        draft = Draft(kind, self._clock(), args=canonical(args))
        sealed = seal(draft, place, self._signer.key_id, self._signer.sign)
        head = head_of(place.writer, sealed, self._signer.key_id, self._signer.sign)
        self._connection.execute("INSERT INTO receipts(body) VALUES (?)", (sealed.body.decode(),))
        self._connection.execute("INSERT OR REPLACE INTO heads VALUES (?, ?)", (place.writer, head.text()))
        return sealed, head

    def _head(self, writer: str) -> Head | None:
        row = self._connection.execute("SELECT head FROM heads WHERE writer = ?", (writer,)).fetchone()
        if row is None:
            return None
        try:
            head = read_head(row[0])
        except HeadError as fault:
            raise StoreError(f"the head of {writer} is damaged: {fault}; put back a file that verifies") from fault
        if self._last_digest(writer) != head.digest:
            raise StoreError(
                f"the chain of {writer} does not end where its signed head says; see `effectgate receipts verify`, "
                "then put back a file that verifies, or move this one away to begin a new store"
            )
        return head

    def _last_digest(self, writer: str) -> str:
        """The hash of the last receipt of a writer, empty where none is found near the end or it is damaged."""
        rows = self._connection.execute("SELECT body FROM receipts ORDER BY seq DESC LIMIT ?", (TAIL_ROWS,))
        for (body,) in rows:
            try:
                receipt = read_receipt(body.encode())
            except RecordError:
                return ""
            if receipt["writer"] == writer:
                return hashlib.sha256(body.encode()).hexdigest()
        return ""
