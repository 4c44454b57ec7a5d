"""Tokens made and revoked by command: seen by a serving process on its next request, whoever made the change."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from scene import KEY, draft, private

from effectgate.receipts.store import StoreError
from effectgate.receipts.store_sqlite import SqliteStore
from effectgate.receipts.store_tokens import Minted, TokenStore, mint, minted, revoke

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return private(tmp_path / "var")


@pytest.fixture
def tokens(state: Path) -> Iterator[TokenStore]:
    store = TokenStore(state, lambda: NOW)
    yield store
    store.close()


def test_nothing_was_made_where_there_is_no_file(tokens: TokenStore, state: Path) -> None:
    assert (tokens.digests("ci"), tokens.revoked("aa")) == ((), False)
    assert not list(state.iterdir())


def test_a_minted_token_is_seen_at_once(tokens: TokenStore, state: Path) -> None:
    assert tokens.digests("ci") == ()
    mint(state, Minted("aa", "ci"), NOW)
    mint(state, Minted("bb", "ci", "viewer"), NOW)
    mint(state, Minted("cc", "other"), NOW)
    assert set(tokens.digests("ci")) == {"aa", "bb"}
    assert {token.role for token in tokens.tokens("ci")} == {"agent", "viewer"}


def test_a_revocation_by_another_process_is_seen_on_the_next_question(tokens: TokenStore, state: Path) -> None:
    mint(state, Minted("aa", "ci"), NOW)
    assert not tokens.revoked("aa")
    before = tokens.changes()
    code = (
        "import sys; from pathlib import Path; from datetime import datetime, UTC;"
        "from effectgate.receipts.store_tokens import revoke; revoke(Path(sys.argv[1]), ('aa',), datetime.now(UTC))"
    )
    subprocess.run([sys.executable, "-c", code, str(state)], check=True, env={"PYTHONPATH": ":".join(sys.path)})
    assert tokens.revoked("aa")
    assert tokens.changes() > before
    assert minted(state, "ci") == ()


def test_a_revoked_hash_stays_revoked(tokens: TokenStore, state: Path) -> None:
    revoke(state, ("aa", "bb"), NOW)
    mint(state, Minted("aa", "ci"), NOW)
    assert tokens.revoked("aa")
    assert tokens.revoked("bb")


def test_a_token_ends(tokens: TokenStore, state: Path) -> None:
    mint(state, Minted("aa", "ci", expires=NOW + timedelta(seconds=1)), NOW)
    mint(state, Minted("bb", "ci", expires=NOW), NOW)
    assert tokens.digests("ci") == ("aa",)


def test_it_shares_the_file_with_a_writing_proxy(tokens: TokenStore, state: Path) -> None:
    store = SqliteStore(state, KEY)
    store.append(draft(1)).result(10)
    mint(state, Minted("aa", "ci"), NOW)
    store.append(draft(2)).result(10)
    assert tokens.digests("ci") == ("aa",)
    store.close()


def test_what_was_read_last_holds_where_the_file_breaks(tokens: TokenStore, state: Path) -> None:
    revoke(state, ("aa",), NOW)
    assert tokens.revoked("aa")
    file = state / "receipts.db"
    file.rename(state / "away.db")
    assert tokens.revoked("aa")
    file.write_bytes(b"rubbish" * 1000)
    assert tokens.revoked("aa")
    (state / "away.db").replace(file)
    revoke(state, ("bb",), NOW)
    assert tokens.revoked("bb")


def test_a_file_that_was_never_read_is_no_empty_one(state: Path) -> None:
    (state / "receipts.db").write_bytes(b"rubbish" * 1000)
    with pytest.raises(StoreError):
        TokenStore(state).revoked("aa")
    with pytest.raises(StoreError):
        mint(state, Minted("aa", "ci"), NOW)


def test_no_token_is_kept(state: Path) -> None:
    mint(state, Minted("ab" * 32, "ci"), NOW)
    assert (state / "receipts.db").stat().st_mode & 0o777 == 0o600
