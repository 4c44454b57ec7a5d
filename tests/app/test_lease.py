"""The token of `effectgate run`: valid inside the block, and by a lease of one minute if nobody ends it."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from effectgate.app.lease import LEASE, leased_token
from effectgate.identity import token_digest
from effectgate.receipts.store_tokens import TokenStore


def test_a_leased_token_is_valid_inside_the_block_only(tmp_path: Path) -> None:
    state = tmp_path / "var"
    with closing(TokenStore(state)) as tokens:
        with leased_token(state, "ci-fixer") as token:
            (minted,) = tokens.tokens("ci-fixer")
            assert minted.digest == token_digest(token)
            assert minted.expires is not None
            assert minted.expires - datetime.now(UTC) <= LEASE
            assert not tokens.revoked(minted.digest)
        assert tokens.revoked(minted.digest)


def test_a_lease_that_nobody_renews_ends(tmp_path: Path) -> None:
    state = tmp_path / "var"
    later = datetime.now(UTC) + LEASE + timedelta(seconds=1)
    with leased_token(state, "ci-fixer"), closing(TokenStore(state, now=lambda: later)) as tokens:
        assert tokens.tokens("ci-fixer") == ()
