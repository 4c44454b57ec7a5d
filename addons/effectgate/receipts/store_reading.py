"""The read side of a store file: rows, heads, one receipt, verification; also while a proxy writes, and without any key (design.md section 7)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from effectgate.receipts.head import Head, HeadError, anchor_text, read_anchor, read_head
from effectgate.receipts.store import StoreError
from effectgate.receipts.store_file import open_for_reading, require_tables
from effectgate.receipts.store_keys import read_trust
from effectgate.receipts.verify import Report, verify

Receipt = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoreReader:
    """One store file, seen as it was when the reader was opened."""

    path: Path
    _connection: sqlite3.Connection

    def rows(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """`(seq, body)` of every row behind `after`, in order."""
        with self._faults_named():
            for seq, body in self._connection.execute(
                "SELECT seq, CAST(body AS BLOB) FROM receipts WHERE seq > ? ORDER BY seq", (after,)
            ):
                yield seq, bytes(body or b"")  # NULL in a table that somebody made anew

    def receipts(self, after: int = 0) -> Iterator[tuple[int, Receipt]]:
        """`(seq, receipt)` behind `after`, in order. Nothing is verified; a row that is no JSON object is left out."""
        for seq, body in self.rows(after):
            receipt = _object(body)
            if receipt is not None:
                yield seq, receipt

    def latest(self, count: int) -> list[tuple[int, Receipt]]:
        """The last `count` receipts, oldest first."""
        with self._faults_named():
            row = self._connection.execute(
                "SELECT min(seq) FROM (SELECT seq FROM receipts ORDER BY seq DESC LIMIT ?)", (count,)
            ).fetchone()
        return list(self.receipts((row[0] or 1) - 1))

    def find(self, prefix: str) -> list[Receipt]:
        """Receipts whose id begins with `prefix`, and the completions of those that were ALLOWs; a scan of the file."""
        found = [receipt for _, receipt in self.receipts() if str(receipt.get("receipt_id")).startswith(prefix)]
        decisions = {str(receipt.get("decision_id")) for receipt in found if receipt.get("verdict") == "ALLOW"}
        if not decisions:
            return found
        return [
            *found,
            *(
                r
                for _, r in self.receipts()
                if r.get("kind") == "completion" and str(r.get("decision_id")) in decisions
            ),
        ]

    def heads(self) -> tuple[Head, ...]:
        """The signed heads that can be read; `verify` names a chain that has none."""
        with self._faults_named():
            texts = [row[0] for row in self._connection.execute("SELECT head FROM heads ORDER BY writer")]
        return tuple(head for head in map(_head, texts) if head is not None)

    def anchor(self) -> str:
        """The text of an anchor file, to be kept where the writer of this store cannot reach it."""
        return anchor_text(self.heads())

    def last_seq(self) -> int:
        """The seq of the last row; 0 where there is none."""
        with self._faults_named():
            return int(self._connection.execute("SELECT coalesce(max(seq), 0) FROM receipts").fetchone()[0])

    @contextmanager
    def _faults_named(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as fault:
            raise StoreError(f"{self.path} cannot be read: {fault}") from fault


@contextmanager
def reading(path: Path) -> Iterator[StoreReader]:
    """Open a store file for reading; everything is read from one snapshot. Raises StoreError."""
    connection = open_for_reading(path)
    try:
        connection.execute("BEGIN")
        require_tables(connection, path)  # in the snapshot that is read
        yield StoreReader(path, connection)
    finally:
        connection.close()


def verify_file(path: Path, trust: Path | None = None, anchor: Path | None = None) -> Report:
    """Verify a store file against a trust file and an anchor, each where there is one.

    Raises StoreError, TrustError, HeadError for files that cannot be read at all.
    """
    return verified_heads(path, trust, anchor)[0]


def verified_heads(
    path: Path, trust: Path | None = None, anchor: Path | None = None
) -> tuple[Report, tuple[Head, ...]]:
    """The same, and the very heads that were verified, one for each writer: those that an anchor may keep."""
    keys = read_trust(trust) if trust is not None else None
    anchors = _read_anchor(anchor) if anchor is not None else ()
    with reading(path) as store:
        heads = tuple({head.writer: head for head in store.heads()}.values())
        return verify(store.rows(), heads, keys, anchors), heads


def _read_anchor(path: Path) -> tuple[Head, ...]:
    try:
        return read_anchor(path.read_bytes())
    except (OSError, HeadError) as fault:
        raise HeadError(f"{path}: {fault}; name a file that `receipts verify --write-anchor` made") from fault


def _head(text: object) -> Head | None:
    try:
        return read_head(text) if isinstance(text, str | bytes) else None
    except HeadError:
        return None


def _object(body: bytes) -> Receipt | None:
    try:
        receipt = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return receipt if isinstance(receipt, dict) else None
