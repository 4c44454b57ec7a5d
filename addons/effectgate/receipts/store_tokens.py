"""Tokens minted and hashes revoked by command, in the store file, for any process (design.md section 6). Only hashes are kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from effectgate.receipts.store import StoreError
from effectgate.receipts.store_file import FILE_NAME, identity, open_for_reading, open_for_writing

ROLES: Final = ("agent", "viewer", "approver", "admin")
BUSY_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Minted:
    """One token made by command: the hex SHA-256 of it, whose it is, what it may do, and when it ends (None: when revoked)."""

    digest: str
    name: str
    role: str = "agent"
    expires: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Snapshot:
    count: int = -1  # of changes; -1 where nothing has been read yet
    tokens: Mapping[str, tuple[Minted, ...]] = field(default_factory=dict)  # by name
    revoked: frozenset[str] = frozenset()


def mint(state: Path, token: Minted, now: datetime) -> None:
    """Record a token's hash. A hash that was revoked stays revoked. Raises StoreError."""
    expires = token.expires.astimezone(UTC).isoformat() if token.expires else ""
    _change(
        state,
        "INSERT OR REPLACE INTO tokens(hash, name, role, created, expires) VALUES (?, ?, ?, ?, ?)",
        [(token.digest, token.name, token.role, now.isoformat(), expires)],
    )


def revoke(state: Path, digests: tuple[str, ...], now: datetime) -> None:
    """Revoke hashes for ever, wherever they stand: minted here or written in `grants.yaml`. Raises StoreError."""
    rows = [(digest, now.isoformat()) for digest in digests]
    _change(state, "INSERT OR IGNORE INTO revoked(hash, revoked) VALUES (?, ?)", rows)


def remember(state: Path, digests: Mapping[str, frozenset[str]]) -> None:
    """Keep the hashes that `grants.yaml` has by name, so that `revoke` finds them when the file has lost them. Raises StoreError."""
    rows = [(name, digest) for name, group in sorted(digests.items()) for digest in sorted(group)]
    _change(state, "INSERT OR IGNORE INTO written(name, hash) VALUES (?, ?)", rows)


def remembered(state: Path, name: str) -> frozenset[str]:
    """Every hash that a serving process ever read for a name in `grants.yaml`. Raises StoreError."""
    path = state / FILE_NAME
    if not path.exists():
        return frozenset()
    try:
        with closing(open_for_reading(path, busy_seconds=BUSY_SECONDS)) as connection:
            return frozenset(row[0] for row in connection.execute("SELECT hash FROM written WHERE name = ?", (name,)))
    except sqlite3.Error as fault:
        raise StoreError(f"{path} cannot be read: {fault}") from fault


def minted(state: Path, name: str) -> tuple[Minted, ...]:
    """The tokens of a name that were made by command, revoked and expired ones left out. Raises StoreError."""
    store = TokenStore(state)
    try:
        return tuple(token for token in store.tokens(name) if not store.revoked(token.digest))
    finally:
        store.close()


class TokenStore:
    """What a serving process asks on every request. One indexed read tells whether anything has changed since.

    Where the file cannot be read what was read last holds: no ALLOW can be committed to such a file either. Before the first read
    StoreError is raised.
    """

    def __init__(self, state: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path = state / FILE_NAME
        self._now = now
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._seen = _Snapshot()

    def digests(self, name: str) -> tuple[str, ...]:
        """Hex SHA-256 of the unexpired tokens minted for `name`."""
        return tuple(token.digest for token in self.tokens(name))

    def tokens(self, name: str) -> tuple[Minted, ...]:
        """The unexpired tokens minted for `name`, revoked ones among them."""
        tokens = self._current().tokens.get(name, ())
        now = self._now() if tokens else None
        return tuple(token for token in tokens if now is None or token.expires is None or now < token.expires)

    def revoked(self, digest: str) -> bool:
        """Whether this hash was ever revoked."""
        return digest in self._current().revoked

    def changes(self) -> int:
        """A number that grows with every token made or revoked, by whatever process."""
        return self._current().count

    def close(self) -> None:
        """Let go of the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _current(self) -> _Snapshot:
        try:
            connection = self._opened()
            if connection is not None and (count := _count(connection)) != self._seen.count:
                self._seen = _snapshot(connection, count)
        except (sqlite3.Error, OSError, StoreError) as fault:
            self.close()
            if self._seen.count < 0:
                raise StoreError(f"{self._path} cannot be read: {fault}") from fault
        return self._seen

    def _opened(self) -> sqlite3.Connection | None:
        """The open file; None where there was never one, for then nothing was ever made or revoked by command."""
        if self._connection is None:
            if not self._path.exists() and self._seen.count < 0:
                return None
            self._connection = open_for_reading(self._path, busy_seconds=0.1)
            self._file = identity(self._path)
        elif identity(self._path) != self._file:
            self.close()
            return self._opened()
        return self._connection


def _count(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT count FROM changes WHERE what = 'tokens'").fetchone()
    return int(row[0])


def _snapshot(connection: sqlite3.Connection, count: int) -> _Snapshot:
    tokens: dict[str, tuple[Minted, ...]] = {}
    for digest, name, role, expires in connection.execute("SELECT hash, name, role, expires FROM tokens"):
        token = Minted(digest, name, role, datetime.fromisoformat(expires) if expires else None)
        tokens[name] = (*tokens.get(name, ()), token)
    revoked = frozenset(row[0] for row in connection.execute("SELECT hash FROM revoked"))
    return _Snapshot(count, tokens, revoked)


def _change(state: Path, statement: str, rows: Sequence[tuple[str, ...]]) -> None:
    path = state / FILE_NAME
    try:
        with closing(open_for_writing(path, busy_seconds=BUSY_SECONDS)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(statement, rows)
            connection.execute("UPDATE changes SET count = count + 1 WHERE what = 'tokens'")
            connection.execute("COMMIT")
    except sqlite3.Error as fault:
        raise StoreError(f"{path} cannot be written: {fault}") from fault
