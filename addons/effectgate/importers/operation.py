"""One operation that a vendor publishes, and the ways in which it goes over the wire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from effectgate.policy.vocabulary import Risk


class Carrier(StrEnum):
    """Where the name of an operation stands, if it is not in the path."""

    PATH = ""
    HEADERS = "headers"
    QUERY = "query"
    FORM = "form"


@dataclass(frozen=True, slots=True)
class Call:
    """One way to call an operation. `name` and `value` are the discriminator in the carrier; `query` are those that stand beside it."""

    method: str
    host: str
    path: str
    carrier: Carrier = Carrier.PATH
    name: str = ""
    value: str = ""
    query: tuple[tuple[str, str], ...] = ()
    absent: tuple[str, ...] = ()
    media_type: str = ""
    encoded_slash: bool = False

    def wire(self) -> tuple[object, ...]:
        """What two operations share that no request can tell apart."""
        return self.method, self.host, self.path, self.carrier, self.name, self.value, self.query


class Access(StrEnum):
    """What an operation does to the service, which decides its risk and whom it is grouped with."""

    READ = "read"
    SECRET = "read secrets"
    ASK = "ask"
    PROBE = "ask about access"
    EXPORT = "export"
    SEND = "send"
    WRITE = "write"
    RUN = "run"
    DELETE = "delete"
    CREDENTIAL = "obtain credentials"
    PERMISSION = "change access"


@dataclass(frozen=True, slots=True)
class Grade:
    """What follows from an access: the risk, whether a broader grant may carry it, and the data sinks beside `http_egress`."""

    risk: Risk
    reserved: bool
    sinks: tuple[str, ...]


GRADES: Mapping[Access, Grade] = {
    Access.READ: Grade(Risk.READ, False, ()),
    Access.SECRET: Grade(Risk.READ, True, ("secret_read",)),
    Access.ASK: Grade(Risk.MUTATE_REMOTE, False, ()),
    Access.PROBE: Grade(Risk.MUTATE_REMOTE, False, ()),
    Access.EXPORT: Grade(Risk.MUTATE_REMOTE, True, ()),
    Access.SEND: Grade(Risk.PUBLISH, False, ("mcp_write",)),
    Access.WRITE: Grade(Risk.MUTATE_REMOTE, False, ("cloud_mutation",)),
    Access.RUN: Grade(Risk.DESTRUCTIVE, True, ("cloud_mutation",)),
    Access.DELETE: Grade(Risk.DESTRUCTIVE, False, ("cloud_mutation",)),
    Access.CREDENTIAL: Grade(Risk.DESTRUCTIVE, True, ("secret_read", "cloud_mutation")),
    Access.PERMISSION: Grade(Risk.DESTRUCTIVE, True, ("cloud_mutation",)),
}


@dataclass(frozen=True, slots=True)
class Service:
    """What a vendor sells under one name. `key` begins the ids of its effects; `name` ends their titles."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """`name` is the vendor's; `verb` and `thing` are what it does to what, in words, the last of `thing` in the singular.

    `rows` counts the vendor's operations that this one stands for: one in several versions of an API is one here.
    """

    service: Service
    name: str
    verb: str
    thing: tuple[str, ...]
    access: Access
    calls: tuple[Call, ...]
    rows: int = 1
    words: frozenset[str] = field(default_factory=frozenset)


def told_apart(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The operations, each wire form with the gravest of those that share it: nobody could grant one without the other."""
    gravest: dict[tuple[object, ...], int] = {}
    for number, operation in enumerate(operations):
        for call in operation.calls:
            before = gravest.setdefault(call.wire(), number)
            if _gravity(operation) > _gravity(operations[before]):
                gravest[call.wire()] = number
    rows: Counter[int] = Counter()
    for operation in operations:
        rows[gravest[operation.calls[0].wire()]] += operation.rows
    for number, operation in enumerate(operations):
        if calls := tuple(call for call in operation.calls if gravest[call.wire()] == number):
            yield replace(operation, calls=calls, rows=max(rows[number], 1))


def _gravity(operation: Operation) -> tuple[int, bool]:
    grade = GRADES[operation.access]
    return int(grade.risk), grade.reserved
