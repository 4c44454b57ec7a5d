"""The signed head of a chain: how far it goes, so that a cut tail shows. Pure (design.md section 5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from effectgate.receipts.canonical import CanonicalError, canonical, parse
from effectgate.receipts.record import Check, Sealed, Sign

HEAD_VERSION: Final = "effectgate.head/1"
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class HeadError(ValueError):
    """A head or an anchor that cannot be read or whose signature does not hold."""


@dataclass(frozen=True, slots=True)
class Head:
    """The last receipt of one writer: its lamport clock and the hash of its body, signed. `head_version` keeps it apart from receipts."""

    writer: str
    lamport: int
    digest: str
    key_id: str
    signature: str = ""

    def preimage(self) -> bytes:
        """The canonical bytes that are signed."""
        return canonical(
            {
                "head_version": HEAD_VERSION,
                "key_id": self.key_id,
                "lamport_clock": self.lamport,
                "receipt_hash": self.digest,
                "writer": self.writer,
            }
        )

    def text(self) -> str:
        """The head as one canonical JSON object, signature included: what the store and an anchor hold."""
        members = parse(self.preimage())
        assert isinstance(members, dict)
        return canonical({**members, "signature": self.signature}).decode()

    def genuine(self, check: Check) -> bool:
        """Whether the key behind `check` signed it."""
        try:
            return check(bytes.fromhex(self.signature), self.preimage())
        except ValueError:
            return False


def head_of(writer: str, sealed: Sealed, key_id: str, sign: Sign) -> Head:
    """The signed head that ends a chain at `sealed`."""
    bare = Head(writer, sealed.lamport, sealed.digest, key_id)
    return Head(writer, sealed.lamport, sealed.digest, key_id, sign(bare.preimage()).hex())


def read_head(text: str | bytes) -> Head:
    """A head from its JSON text. Raises HeadError."""
    try:
        members = parse(text.encode() if isinstance(text, str) else text)
    except CanonicalError as fault:
        raise HeadError(f"the head cannot be read: {fault}") from None
    return _head(members)


def read_anchor(data: bytes) -> tuple[Head, ...]:
    """The heads of an anchor file, ``{"heads": [..]}``. Raises HeadError."""
    try:
        anchor = parse(data)
    except CanonicalError as fault:
        raise HeadError(f"the anchor cannot be read: {fault}") from None
    if not isinstance(anchor, dict) or not isinstance(anchor.get("heads"), list) or not anchor["heads"]:
        raise HeadError('the anchor has no list "heads"')
    return tuple(_head(members) for members in anchor["heads"])


def anchor_text(heads: tuple[Head, ...]) -> str:
    """An anchor file holding these heads, to be kept elsewhere."""
    return canonical({"heads": [parse(head.text().encode()) for head in heads]}).decode() + "\n"


def _head(members: object) -> Head:
    if not isinstance(members, dict) or members.get("head_version") != HEAD_VERSION:
        raise HeadError(f"the head is not of version {HEAD_VERSION}")
    texts = {name: members.get(name) for name in ("writer", "receipt_hash", "key_id", "signature")}
    clock = members.get("lamport_clock")
    if not all(isinstance(text, str) for text in texts.values()) or type(clock) is not int:
        raise HeadError("a member of the head is missing or of the wrong type")
    if not _SHA256.fullmatch(str(texts["receipt_hash"])):
        raise HeadError("the receipt_hash of the head is not 64 lower-case hex digits")
    return Head(str(texts["writer"]), clock, str(texts["receipt_hash"]), str(texts["key_id"]), str(texts["signature"]))
