"""Heads and anchors: what they bind, and what is no head."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scene import DRAFT, KEY, OTHER_KEY, TRUSTED

from effectgate.receipts.head import HeadError, anchor_text, head_of, read_anchor, read_head
from effectgate.receipts.record import Place, seal
from effectgate.receipts.store_keys import checker

HEAD = head_of("worker-1", seal(DRAFT, Place("worker-1", 7, "ab" * 32), KEY.key_id, KEY.sign), KEY.key_id, KEY.sign)


def test_there_and_back() -> None:
    assert read_head(HEAD.text()) == HEAD
    assert read_anchor(anchor_text((HEAD,)).encode()) == (HEAD,)
    assert HEAD.genuine(TRUSTED[KEY.key_id])
    assert not HEAD.genuine(checker(OTHER_KEY.public_hex))


@pytest.mark.parametrize(
    "changes", [{"writer": "w"}, {"lamport": 8}, {"digest": "cd" * 32}, {"key_id": "k"}, {"signature": "zz"}]
)
def test_every_member_is_signed(changes: dict[str, object]) -> None:
    assert not replace(HEAD, **changes).genuine(TRUSTED[KEY.key_id])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["", "7", "{}", '{"head_version":"effectgate.head/1"}', HEAD.text().replace(":7", ":7.0")]
)
def test_no_head(text: str) -> None:
    with pytest.raises(HeadError):
        read_head(text)


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"heads":[]}', b'{"heads":[7]}'])
def test_no_anchor(text: bytes) -> None:
    with pytest.raises(HeadError):
        read_anchor(text)
