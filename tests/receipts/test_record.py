"""The record: receipt.v5 vectors, the content address, and what a change to any member does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from scene import DATA, DRAFT, KEY, TRUSTED

from effectgate.receipts.canonical import canonical, parse
from effectgate.receipts.record import SIGNED, Place, RecordError, check_signature, read_receipt, seal, signing_bytes
from effectgate.receipts.store_keys import checker

VECTORS = json.loads((DATA / "receipt-v5" / "vectors.json").read_text())
CHECK = checker(VECTORS["public_key"].removeprefix("ed25519:"))
SEALED = seal(DRAFT, Place("worker-1", 7, "ab" * 32), KEY.key_id, KEY.sign)


def published(vector_id: str) -> dict[str, Any]:
    """A published receipt, by its vector's id."""
    text = (DATA / "receipt-v5" / f"{vector_id}.receipt.c14n.json").read_bytes().removesuffix(b"\n")
    receipt = parse(text)
    assert isinstance(receipt, dict)
    assert canonical(receipt) == text
    return receipt


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda v: v["id"])
def test_positive_vector(vector: dict[str, Any]) -> None:
    receipt = published(vector["id"])
    payload = (DATA / "receipt-v5" / vector["signing_payload"]["canonical"]).read_bytes().removesuffix(b"\n")
    assert signing_bytes(receipt) == payload
    assert f"sha256:{hashlib.sha256(payload).hexdigest()}" == vector["signing_payload"]["sha256"]
    assert f"ed25519:{KEY.sign(payload).hex()}" == vector["signature"]
    check_signature(receipt, CHECK)


MUTATIONS: dict[str, Callable[[dict[str, Any]], object]] = {
    "set_verdict_to_ALLOW": lambda r: r.update(verdict="ALLOW"),
    "flip_signature_last_bit": lambda r: r.update(signature=f"{int(r['signature'], 16) ^ 1:0128x}"),
    "set_lamport_clock_above_max_safe_integer": lambda r: r.update(lamport_clock=2**53),
    "remove_empty_policy_hash": lambda r: r.pop("policy_hash"),
}
KINDS = {
    "signature_rejected": "bad signature",
    "non_interoperable_number": "number",
    "contract_mismatch": "contract",
}


@pytest.mark.parametrize("vector", VECTORS["negative_vectors"], ids=lambda v: v["id"])
def test_negative_vector(vector: dict[str, str]) -> None:
    receipt = published(vector["vector_id"])
    MUTATIONS[vector["mutation"]](receipt)
    with pytest.raises(RecordError) as fault:
        check_signature(receipt, CHECK)
    assert fault.value.kind == KINDS[vector["expected_error"]]


def test_a_sealed_receipt_is_whole() -> None:
    receipt = read_receipt(SEALED.body)
    check_signature(receipt, TRUSTED[KEY.key_id])
    assert SEALED.digest == hashlib.sha256(SEALED.body).hexdigest()
    assert receipt["receipt_id"] == SEALED.receipt_id
    assert receipt["lamport_clock"] == 7
    assert len([name for name in SIGNED if name in receipt]) == 13


@pytest.mark.parametrize("name", SIGNED)
def test_flipping_a_signed_member_breaks_the_signature(name: str) -> None:
    receipt = read_receipt(SEALED.body)
    receipt[name] = 8 if name == "lamport_clock" else f"{receipt[name]}x"
    with pytest.raises(RecordError):
        check_signature(receipt, TRUSTED[KEY.key_id])


@pytest.mark.parametrize("name", sorted(set(json.loads(SEALED.body)) - {"signature"}))
def test_flipping_any_member_breaks_the_content_address(name: str) -> None:
    receipt = json.loads(SEALED.body)
    value = receipt[name]
    receipt[name] = (
        value + 1 if isinstance(value, int) else {**value, "x": 1} if isinstance(value, dict) else value + "x"
    )
    with pytest.raises(RecordError) as fault:
        read_receipt(canonical(receipt))
    assert fault.value.kind == "edit"


@pytest.mark.parametrize(
    "body",
    [SEALED.body + b" ", SEALED.body.replace(b'","', b'", "', 1), b"[]", b"{}", b"\xff", SEALED.body[:-1]],
    ids=["trailing space", "inner space", "array", "empty", "not UTF-8", "cut"],
)
def test_a_body_that_is_not_canonical_is_an_edit(body: bytes) -> None:
    with pytest.raises(RecordError) as fault:
        read_receipt(body)
    assert fault.value.kind == "edit"


@pytest.mark.parametrize("signature", ["", "00" * 64, "zz" * 64, "AB" * 64, 7])
def test_a_signature_that_is_none(signature: object) -> None:
    receipt = {**read_receipt(SEALED.body), "signature": signature}
    with pytest.raises(RecordError) as fault:
        check_signature(receipt, TRUSTED[KEY.key_id])
    assert fault.value.kind == "bad signature"


def test_odd_texts_survive_sealing() -> None:
    odd = {"principal": 'a"b\\c\x00\u2028\U0001f510', "\ufb33": 1, "\U0001f600": 2}
    sealed = seal(
        DRAFT.__class__("decision", "t", session_id='s"\n\U0001f510', args=canonical(odd)),
        Place("wörker"),
        KEY.key_id,
        KEY.sign,
    )
    assert read_receipt(sealed.body)["args"] == odd
