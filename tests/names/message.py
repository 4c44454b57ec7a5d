"""DNS messages by hand (RFC 1035 section 4): a library would refuse to write the bad ones."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

A, CNAME, AAAA = 1, 5, 28
KINDS = {A: "A", CNAME: "CNAME", AAAA: "AAAA"}
NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3
RESPONSE, TRUNCATED = 0x8180, 0x0200  # with recursion desired and available
_POINTER_TO_QUESTION = b"\xc0\x0c"


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked: the name in lower case without the last dot, and A, AAAA or the number of the type."""

    name: str
    kind: str
    id: int
    raw: bytes  # the question section


@dataclass(frozen=True, slots=True)
class Record:
    """One record: `owner` empty for the name that was asked; `data` is an address, or the target of a CNAME."""

    data: str
    ttl: int = 60
    owner: str = ""

    @property
    def kind(self) -> str:
        """A, AAAA or CNAME, as the data tells."""
        try:
            return "A" if ip_address(self.data).version == 4 else "AAAA"
        except ValueError:
            return "CNAME"

    @property
    def wire(self) -> bytes:
        """The record as it is sent."""
        data = encode_name(self.data) if self.kind == "CNAME" else ip_address(self.data).packed
        number = {name: number for number, name in KINDS.items()}[self.kind]
        owner = encode_name(self.owner) if self.owner else _POINTER_TO_QUESTION
        return owner + struct.pack("!HHIH", number, 1, self.ttl, len(data)) + data


def encode_name(name: str) -> bytes:
    """Labels with their lengths; whatever stands in them is sent, NUL and upper case too."""
    labels = [label.encode("latin-1") for label in name.rstrip(".").split(".")]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def read_question(message: bytes) -> Question:
    """The only question of a query."""
    at, labels = 12, []
    while length := message[at]:
        labels.append(message[at + 1 : at + 1 + length].decode("latin-1"))
        at += 1 + length
    (number,) = struct.unpack_from("!H", message, at + 1)
    kind = KINDS.get(number, str(number))
    return Question(".".join(labels).lower(), kind, struct.unpack_from("!H", message)[0], message[12 : at + 5])


def respond(question: Question, records: Sequence[Record] = (), *, code: int = NOERROR, flags: int = 0) -> bytes:
    """A whole response."""
    header = struct.pack("!HHHHHH", question.id, RESPONSE | flags | code, 1, len(records), 0, 0)
    return header + question.raw + b"".join(record.wire for record in records)
