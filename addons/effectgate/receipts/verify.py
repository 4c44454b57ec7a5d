"""Verification of a whole store: content, signatures, chains, heads, anchor; the first fault of each kind is named. Pure (design.md section 5)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from effectgate.receipts.chain import SUPERVISOR, Chain, Fault, Jumps, Link
from effectgate.receipts.head import Head
from effectgate.receipts.record import Check, RecordError, check_signature, read_receipt, signing_bytes

Trust = Mapping[str, Check]  # by key id


@dataclass(frozen=True, slots=True)
class Report:
    """What verification found. `faults` has the first of each kind; `open_allows` counts ALLOWs without a completion."""

    receipts: int
    chains: Mapping[str, int]  # writer -> lamport clock of its last receipt
    faults: tuple[Fault, ...]
    trusted: bool  # signatures were held against trusted keys
    anchored: bool  # the ends were held against heads kept elsewhere
    open_allows: int

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong, as far as could be checked."""
        return not self.faults

    @property
    def exit_code(self) -> int:
        """0 intact and trusted, 1 otherwise."""
        return 0 if self.intact and self.trusted else 1

    def lines(self) -> list[str]:
        """The report for people, one finding a line."""
        found = [f"{fault.kind}: {fault.message}{_place(fault)}" for fault in self.faults]
        state = "intact" if self.intact else "NOT intact"
        trust = "trusted" if self.trusted else "not trusted: name the keys with --trust FILE"
        tail = "the tail is proven by the anchor" if self.anchored else "tail not proven: no --anchor"
        chains = ", ".join(f"{writer} {length}" for writer, length in sorted(self.chains.items()))
        counts = f"{self.receipts} receipts ({chains}), {self.open_allows} ALLOW without completion"
        return [*found, counts, f"{state}, {trust}", tail]


def _place(fault: Fault) -> str:
    """The row, where the message does not begin with it."""
    return f" (row {fault.seq})" if fault.seq and not fault.message.startswith(f"row {fault.seq}") else ""


def verify(
    rows: Iterable[tuple[int, bytes]], heads: Iterable[Head], trust: Trust | None, anchor: Iterable[Head] = ()
) -> Report:
    """Check every row `(seq, body)` in order, then the ends. Without `trust` signatures are not held against any key."""
    walk = _Walk(trust)
    for seq, body in rows:
        walk.row(seq, body)
    anchors = tuple(anchor)
    walk.finish({head.writer: head for head in heads}, anchors)
    return Report(
        walk.count,
        {writer: chain.length for writer, chain in walk.chains.items()},
        tuple(walk.faults.values()),
        trusted=bool(trust),
        anchored=bool(anchors),
        open_allows=len(walk.allowed),
    )


class _Walk:
    """The state of one verification."""

    def __init__(self, trust: Trust | None) -> None:
        self.count = 0
        self.chains: dict[str, Chain] = {}
        self._jumps = Jumps()
        self.faults: dict[str, Fault] = {}
        self.allowed: dict[str, str] = {}  # receipt id of an open ALLOW -> its decision id
        self._trust = trust
        self._named: dict[str, str] = {}  # writer -> genesis, as the supervisor's chain names it

    def row(self, seq: int, body: bytes) -> None:
        """Check one row by itself, then its place."""
        self.count += 1
        try:
            receipt = read_receipt(body)
            signing_bytes(receipt)
        except RecordError as fault:
            self._damaged(seq, body, fault)
            return
        unsound = self._signature_fault(seq, receipt)
        self._keep(unsound)
        self._place(seq, receipt, body, sound=unsound is None)
        if unsound is None:
            self._meaning(seq, receipt)

    def finish(self, heads: Mapping[str, Head], anchors: Iterable[Head]) -> None:
        """Check what only the end shows."""
        for writer in {*self.chains, *heads, *self._named, SUPERVISOR}:
            self.chains.setdefault(writer, Chain(writer, self._jumps))
        for writer, chain in self.chains.items():
            head = heads.get(writer)
            for fault in (*chain.finish(head), *self._head_faults(head), *self._beginning(chain)):
                self._keep(fault)
        for head in anchors:
            for fault in self._head_faults(head):
                self._keep(fault)
            self._keep(self.chains.setdefault(head.writer, Chain(head.writer, self._jumps)).anchored(head))

    def _damaged(self, seq: int, body: bytes, fault: RecordError) -> None:
        """Name a row that does not hold, and let its chain go on behind it where the row still says which it is."""
        receipt = _whatever(body)
        self._keep(Fault("edit", seq, _text(receipt, "receipt_id"), f"row {seq}: {fault}"))
        self._place(seq, receipt, body, sound=False)

    def _signature_fault(self, seq: int, receipt: Mapping[str, object]) -> Fault | None:
        if not self._trust:
            return None
        receipt_id, key_id = str(receipt["receipt_id"]), str(receipt.get("key_id"))
        check = self._trust.get(key_id)
        if check is None:
            return Fault("untrusted key", seq, receipt_id, f"row {seq} is signed by {key_id}, which is not trusted")
        try:
            check_signature(receipt, check)
        except RecordError as fault:
            return Fault("bad signature", seq, receipt_id, f"row {seq}: {fault}")
        return None

    def _place(self, seq: int, receipt: Mapping[str, object], body: bytes, *, sound: bool) -> None:
        writer, lamport = _text(receipt, "writer"), receipt.get("lamport_clock")
        if not isinstance(lamport, int) or not (sound or writer in self.chains or lamport == 1):
            return  # named already, and it says too little to be placed
        chain = self.chains.setdefault(writer, Chain(writer, self._jumps))
        receipt_id, kind = _text(receipt, "receipt_id"), _text(receipt, "kind")
        digest = hashlib.sha256(body).hexdigest()
        self._keep(chain.take(Link(seq, receipt_id, kind, lamport, _text(receipt, "prev_hash"), digest, sound)))

    def _meaning(self, seq: int, receipt: Mapping[str, object]) -> None:
        """What a receipt says of others: which ALLOW it closes, which writer's chain it names."""
        receipt_id, decision_id = _text(receipt, "receipt_id"), _text(receipt, "decision_id")
        args = receipt.get("args")
        args = args if isinstance(args, dict) else {}
        if receipt["verdict"] == "ALLOW":
            self.allowed[receipt_id] = decision_id
        elif receipt.get("kind") == "completion" and self.allowed.pop(_text(args, "completes"), None) != decision_id:
            self._orphaned(seq, receipt_id)
        elif receipt.get("kind") == "writer" and receipt.get("writer") == SUPERVISOR:
            self._named[_text(args, "writer")] = _text(args, "genesis")

    def _orphaned(self, seq: int, receipt_id: str) -> None:
        if "edit" not in self.faults and "bad signature" not in self.faults:  # a damaged ALLOW has been named already
            self._keep(Fault("orphan", seq, receipt_id, f"row {seq} completes no ALLOW that is open before it"))

    def _keep(self, fault: Fault | None) -> None:
        if fault is not None:
            self.faults.setdefault(fault.kind, fault)

    def _head_faults(self, head: Head | None) -> Iterator[Fault]:
        if head is None or not self._trust:
            return
        check = self._trust.get(head.key_id)
        if check is None:
            yield Fault(
                "untrusted key", 0, "", f"the head of {head.writer} is signed by {head.key_id}, which is not trusted"
            )
        elif not head.genuine(check):
            yield Fault("head", 0, "", f"the signature of the head of {head.writer} does not hold")

    def _beginning(self, chain: Chain) -> Iterator[Fault]:
        """Whether a chain begins as the supervisor's chain says."""
        named = self._named.get(chain.writer, "")
        if not chain.length:
            yield Fault("missing genesis", 0, "", f"there is no receipt of {chain.writer}")
        elif chain.writer != SUPERVISOR and not named:
            yield Fault("missing genesis", 0, "", f"the supervisor's chain names no genesis of {chain.writer}")
        elif chain.writer != SUPERVISOR and chain.genesis != named:
            yield Fault(
                "missing genesis", 0, "", f"{chain.writer} does not begin with the genesis that its supervisor names"
            )


def _whatever(body: bytes) -> Mapping[str, object]:
    """The members of a damaged body as far as they can be read; they are used to place it, never believed."""
    try:
        receipt = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return receipt if isinstance(receipt, dict) else {}


def _text(members: Mapping[str, object], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""
