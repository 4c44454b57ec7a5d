"""One writer's chain, walked row by row: what is linked, swapped, inserted, replayed or gone. Pure (design.md section 5).

Holds 16 bytes a receipt and nothing else, so that a store of millions verifies in little memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from effectgate.receipts.head import Head

FaultKind = Literal[
    "edit",
    "bad signature",
    "untrusted key",
    "missing genesis",
    "cut tail",
    "removed",
    "swap",
    "insert",
    "replay",
    "orphan",
    "head",
]

# The writer whose chain names the genesis of every other.
SUPERVISOR: Final = "supervisor"

_MARK: Final = 16  # bytes of a digest that are kept
_HOLE: Final = bytes(_MARK)
_UNKNOWN: Final = b"\xff" * _MARK  # a row was here, but not as it was written

# Lamport clocks that jump further, all of one store together, are not followed: without a trusted key anyone can write such rows.
MAX_JUMP: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a store: its kind, the row and the receipt where it shows (0 and "" where none), and a sentence."""

    kind: FaultKind
    seq: int
    receipt_id: str
    message: str


@dataclass(frozen=True, slots=True)
class Link:
    """A row as the chain sees it. `sound` is false where its content or signature does not hold."""

    seq: int
    receipt_id: str
    kind: str
    lamport: int
    prev_hash: str
    digest: str
    sound: bool


@dataclass(slots=True)
class Jumps:
    """How far the clocks of one store may still jump."""

    left: int = MAX_JUMP


class Chain:
    """Walks the rows of one writer in the order of the file; the chains of a store share its `jumps`."""

    def __init__(self, writer: str, jumps: Jumps | None = None) -> None:
        self.writer = writer
        self._jumps = jumps or Jumps()
        self.genesis = ""  # the receipt id of the first receipt, once seen
        self._marks = bytearray()
        self._missing = 0  # how many marks are holes
        self._last: str | None = ""  # what the next prev_hash must be; None where it cannot be known

    @property
    def length(self) -> int:
        """The lamport clock of the last receipt."""
        return len(self._marks) // _MARK

    def take(self, link: Link) -> Fault | None:
        """Go over the next row; what is wrong with its place, if anything."""
        due = self.length + 1
        if not link.sound:
            if link.lamport == due:
                self._advance(link, _UNKNOWN)
            return None
        if link.lamport < due:
            return self._behind(link)
        if link.lamport > due:
            return self._ahead(link)
        if self._last is not None and link.prev_hash != self._last:
            return self._fault("insert", link, f"is not linked to receipt {due - 1}")
        if due == 1 and link.kind != "genesis":
            return self._fault("missing genesis", link, "stands where the genesis should be")
        self._advance(link, _mark(link.digest))
        return None

    def finish(self, head: Head | None) -> Iterator[Fault]:
        """What only the end shows: missing receipts, and a tail that is shorter than the signed head says."""
        for first, last in self._holes():
            kind: FaultKind = "missing genesis" if first == 1 else "removed"
            yield Fault(kind, 0, "", f"receipts {first} to {last} of {self.writer} are missing")
        if head is None:
            yield Fault("head", 0, "", f"{self.writer} has no signed head")
        elif head.lamport > self.length:
            yield self._cut(head, "the signed head")
        elif head.lamport < self.length or not self.holds(head):
            yield Fault("head", 0, "", f"the signed head of {self.writer} is not that of its last receipt")

    def anchored(self, head: Head) -> Fault | None:
        """What is wrong when held against a head that was kept elsewhere."""
        if head.lamport > self.length:
            return self._cut(head, "the anchor")
        if not self.holds(head):
            message = f"receipt {head.lamport} of {self.writer} is not the one that was anchored"
            return Fault("edit", 0, "", message)
        return None

    def holds(self, head: Head) -> bool:
        """Whether the receipt that a head names is here; true also where that row was found damaged, which is named already."""
        mark = self._marks[(head.lamport - 1) * _MARK : head.lamport * _MARK]
        return mark in (_mark(head.digest), _UNKNOWN)

    def _behind(self, link: Link) -> Fault:
        place = slice((link.lamport - 1) * _MARK, link.lamport * _MARK)
        if self._marks[place] == _HOLE:
            self._marks[place] = _mark(link.digest)
            self._missing -= 1
            self.genesis = self.genesis if link.lamport > 1 else link.receipt_id
            return self._fault("swap", link, f"comes after receipt {self.length}")
        if self._marks[place] == _mark(link.digest):
            return self._fault("replay", link, "was here before")
        return self._fault("insert", link, "stands beside another receipt of the same number")

    def _ahead(self, link: Link) -> Fault | None:
        gap = link.lamport - self.length - 1
        if gap > self._jumps.left:
            return self._fault("insert", link, f"is {gap} ahead of its place")
        self._jumps.left -= gap
        self._marks += _HOLE * gap
        self._missing += gap
        self._advance(link, _mark(link.digest))
        return None

    def _advance(self, link: Link, mark: bytes) -> None:
        self._marks += mark
        self._last = link.digest if link.sound else None
        if link.lamport == 1:
            self.genesis = link.receipt_id

    def _holes(self) -> Iterator[tuple[int, int]]:
        first = 0
        for lamport in range(1, self.length + 1) if self._missing else ():
            hole = self._marks[(lamport - 1) * _MARK : lamport * _MARK] == _HOLE
            if hole and not first:
                first = lamport
            elif first and not hole:  # the last receipt is never a hole
                yield first, lamport - 1
                first = 0

    def _cut(self, head: Head, witness: str) -> Fault:
        message = f"{self.writer} ends at receipt {self.length}, {witness} says {head.lamport}"
        return Fault("cut tail", 0, "", message)

    def _fault(self, kind: FaultKind, link: Link, what: str) -> Fault:
        return Fault(kind, link.seq, link.receipt_id, f"receipt {link.lamport} of {self.writer} {what}")


def _mark(digest: str) -> bytes:
    return bytes.fromhex(digest)[:_MARK]
