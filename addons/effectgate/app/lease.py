"""A token that is valid while a command runs: its hash is renewed for a minute at a time, so that even `kill -9` ends it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from effectgate.identity import new_token
from effectgate.receipts.store import StoreError
from effectgate.receipts.store_tokens import Minted, mint, revoke

LEASE = timedelta(seconds=60)
RENEW_SECONDS = 15.0


@contextmanager
def leased_token(state: Path, name: str) -> Iterator[str]:
    """A token for `name`, revoked at the end of the block. Raises StoreError where it cannot be recorded."""
    token, digest = new_token()
    _renew(state, name, digest)
    ended = threading.Event()
    renewing = threading.Thread(target=_renew_until, args=(state, name, digest, ended), daemon=True)
    renewing.start()
    try:
        yield token
    finally:
        ended.set()
        renewing.join()
        revoke(state, (digest,), datetime.now(UTC))


def _renew(state: Path, name: str, digest: str) -> None:
    now = datetime.now(UTC)
    mint(state, Minted(digest, name, expires=now + LEASE), now)


def _renew_until(state: Path, name: str, digest: str, ended: threading.Event) -> None:
    while not ended.wait(RENEW_SECONDS):
        try:
            _renew(state, name, digest)
        except StoreError:
            continue  # a busy store: there are three more tries before the lease ends
