"""The record: what a receipt is, how it is sealed into its chain, and how one receipt is checked. Pure (design.md section 5).

A receipt is one JSON object. Its canonical bytes are what the store keeps and what the next receipt's `prev_hash` covers.
Each member is encoded once, and the three texts that need it (content address, signing object, body) are joined from those encodings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from effectgate.receipts.canonical import MAX_SAFE_INTEGER, CanonicalError, canonical, parse, sha256, text_of

Kind = Literal["genesis", "writer", "decision", "completion", "fold"]
Sign = Callable[[bytes], bytes]
Check = Callable[[bytes, bytes], bool]  # (signature, message) -> whether the key made it

RECEIPT_VERSION: Final = "effectgate.receipt/1"
SIGNATURE_VERSION: Final = "receipt.v5"

# The signing object of receipt.v5: exactly these, present even where empty.
SIGNED: Final = (
    "args_hash", "decision_id", "effect_id", "lamport_clock", "output_hash", "policy_hash", "prev_hash", "reason_code",
    "receipt_id", "session_id", "signature_version", "status", "verdict",
)  # fmt: skip

# Objects kept in the body so that a verifier can recompute the hashes that are signed.
HASHED: Final = {"args": "args_hash", "policy": "policy_hash", "output": "output_hash"}

_CONSTANT: Final = {
    "receipt_version": text_of(RECEIPT_VERSION),
    "signature_algorithm": text_of("ed25519"),
    "signature_profile": text_of("classical"),
    "signature_version": text_of(SIGNATURE_VERSION),
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A receipt without its place in a chain. `args`, `policy`, `output` are canonical JSON objects, empty where there is none."""

    kind: Kind
    timestamp: str  # RFC 3339, UTC
    decision_id: str = ""
    effect_id: str = ""
    status: str = ""
    verdict: str = ""
    reason_code: str = ""
    session_id: str = ""
    args: bytes = b""
    policy: bytes = b""
    output: bytes = b""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a chain: the writer's name, the lamport clock (from 1, without gaps), the hash of the receipt before ("" at genesis)."""

    writer: str
    lamport: int = 1
    prev_hash: str = ""

    def after(self, sealed: Sealed) -> Place:
        """The place behind a receipt."""
        return Place(self.writer, sealed.lamport + 1, sealed.digest)


@dataclass(frozen=True, slots=True)
class Sealed:
    """A signed receipt: `body` is its canonical JSON, `digest` the bare hex SHA-256 of it."""

    receipt_id: str
    lamport: int
    body: bytes
    digest: str


class RecordError(ValueError):
    """A receipt that breaks the contract. `kind` is `edit`, `bad signature`, `number` or `contract`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def seal(draft: Draft, place: Place, key_id: str, sign: Sign) -> Sealed:
    """Place and sign a draft. `receipt_id` is the SHA-256 of the receipt with `receipt_id` and `signature` empty (receipt-format 2.1)."""
    members = _members(draft, place, key_id)
    receipt_id = hashlib.sha256(_join(members)).hexdigest()
    members["receipt_id"] = f'"{receipt_id}"'
    signature = sign(_join({name: members[name] for name in SIGNED})).hex()
    members["signature"] = f'"{signature}"'
    body = _join(members)
    return Sealed(receipt_id, place.lamport, body, hashlib.sha256(body).hexdigest())


def _members(draft: Draft, place: Place, key_id: str) -> dict[str, str]:
    """Every member of the body, encoded, by name in canonical order (all names are ASCII)."""
    members = {name: text_of(getattr(draft, name)) for name in _TEXTS}
    for name, hash_name in HASHED.items():
        encoded: bytes = getattr(draft, name)
        members[hash_name] = f'"{sha256(encoded)}"' if encoded else '""'
        if encoded:
            members[name] = encoded.decode()
    members |= _CONSTANT
    members["key_id"] = text_of(key_id)
    members["writer"] = text_of(place.writer)
    members["lamport_clock"] = str(place.lamport)
    members["prev_hash"] = f'"{place.prev_hash}"'
    members["receipt_id"] = members["signature"] = '""'
    return dict(sorted(members.items()))


_TEXTS: Final = ("kind", "timestamp", "decision_id", "effect_id", "status", "verdict", "reason_code", "session_id")


def _join(members: Mapping[str, str]) -> bytes:
    return ("{" + ",".join([f'"{name}":{text}' for name, text in members.items()]) + "}").encode()


def signing_bytes(receipt: Mapping[str, object]) -> bytes:
    """The receipt.v5 signing object of a receipt, canonical. Raises RecordError where a member is missing or of the wrong type."""
    if missing := [name for name in SIGNED if name not in receipt]:
        raise RecordError("contract", f"the signed member {missing[0]} is missing")
    if receipt["signature_version"] != SIGNATURE_VERSION:
        raise RecordError("contract", f"signature_version is not {SIGNATURE_VERSION}")
    clock = receipt["lamport_clock"]
    if type(clock) is not int or not 0 < clock <= MAX_SAFE_INTEGER:
        raise RecordError("number", "lamport_clock is not a positive safe integer")
    for name in SIGNED:
        if name != "lamport_clock" and not isinstance(receipt[name], str):
            raise RecordError("contract", f"the signed member {name} is not a string")
    return canonical({name: receipt[name] for name in SIGNED})


def check_signature(receipt: Mapping[str, object], check: Check) -> None:
    """Raises RecordError unless the key behind `check` signed this receipt by receipt.v5. No older preimage is ever tried."""
    message = signing_bytes(receipt)
    signature = receipt.get("signature")
    if not isinstance(signature, str) or len(signature) != 128 or signature != signature.lower():
        raise RecordError("bad signature", "the signature is not 128 lower-case hex digits")
    try:
        genuine = check(bytes.fromhex(signature), message)
    except ValueError:
        genuine = False
    if not genuine:
        raise RecordError("bad signature", "the key did not make this signature")


def read_receipt(body: bytes) -> dict[str, object]:
    """The receipt of a stored body, its hashes and its content address recomputed. Raises RecordError of kind `edit`."""
    receipt = _object(body)
    for name, hash_name in HASHED.items():
        expected = sha256(canonical(receipt[name])) if name in receipt else ""
        if receipt.get(hash_name) != expected:
            raise RecordError("edit", f"{name} does not hash to {hash_name}")
    address = hashlib.sha256(canonical({**receipt, "receipt_id": "", "signature": ""})).hexdigest()
    if receipt.get("receipt_id") != address:
        raise RecordError("edit", "the content does not hash to receipt_id")
    return receipt


def _object(body: bytes) -> dict[str, object]:
    try:
        receipt = parse(body)
        if not isinstance(receipt, dict):
            raise RecordError("edit", "the body is not an object")
        if canonical(receipt) != body:
            raise RecordError("edit", "the body is not in canonical form")
    except CanonicalError as fault:
        raise RecordError("edit", f"the body has no canonical form: {fault}") from None
    return receipt
