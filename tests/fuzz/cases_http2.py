"""HTTP/2 by hand (RFC 9113 section 4): requests whose fields are changed, frames that do not belong, bytes that are not frames."""

from __future__ import annotations

import random
from collections.abc import Callable

import hpack

from fuzz.mutation import mutated

HOST = "api.narrow.test"
# What a body may be taken for.
SECOND = f"GET /items/admin HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
Fields = list[tuple[bytes, bytes]]

PLAIN: Fields = [
    (b":method", b"GET"), (b":scheme", b"https"), (b":authority", HOST.encode()), (b":path", b"/items/7"), (b"x-a", b"b"),
]  # fmt: skip


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def connection(dice: random.Random) -> tuple[bytes, bool]:
    """The bytes of a connection, and whether they are a good request."""
    encoder = hpack.Encoder()
    out = [PREFACE, frame(SETTINGS, 0, 0)]
    if dice.randrange(6) == 0:
        return b"".join([*out, frame(HEADERS, END_STREAM | END_HEADERS, 1, encoder.encode(PLAIN))]), True
    for stream in range(1, 2 * dice.choice((1, 1, 2, 3)), 2):
        out += _request(dice, encoder, stream)
    data = b"".join(out)
    if dice.randrange(3) == 0:
        start = len(PREFACE)
        data = data[:start] + mutated(dice, data[start:], dice.choice((1, 1, 2)))
    return data, False


def _request(dice: random.Random, encoder: hpack.Encoder, stream: int) -> list[bytes]:
    fields = PLAIN
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        fields = dice.choice(FIELD_CHANGES)(dice, fields)
    block = encoder.encode([(name, value) for name, value in fields], huffman=bool(dice.randrange(2)))
    body = dice.choice((b"", b"", b"", b"hello", SECOND))
    ends = END_STREAM if not body else 0
    cut = dice.randrange(len(block)) if dice.randrange(4) == 0 else len(block)
    out = [frame(HEADERS, ends | (END_HEADERS if cut == len(block) else 0), stream, block[:cut])]
    if cut < len(block):
        out.append(frame(CONTINUATION, END_HEADERS, stream, block[cut:]))
    if body:
        out.append(frame(DATA, dice.choice((END_STREAM, END_STREAM, 0)), stream, body))
    if dice.randrange(5) == 0:
        out.insert(dice.randrange(len(out) + 1), _odd(dice, stream))
    return out


def _odd(dice: random.Random, stream: int) -> bytes:
    kind = dice.choice((PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION, 77))
    return frame(
        kind,
        dice.choice((0, 1, 4, 8, 0xFF)),
        dice.choice((0, stream, stream + 1, 2**31)),
        dice.randbytes(dice.choice((0, 4, 5, 6, 8))),
    )


def _another_value(dice: random.Random, fields: Fields) -> Fields:
    at = dice.randrange(len(fields))
    name, value = fields[at]
    return [*fields[:at], (name, mutated(dice, value, 1)), *fields[at + 1 :]]


def _another_name(dice: random.Random, fields: Fields) -> Fields:
    at = dice.randrange(len(fields))
    name, value = fields[at]
    return [
        *fields[:at],
        (dice.choice((name.upper(), name + b" ", b":odd", b"", mutated(dice, name, 1))), value),
        *fields[at + 1 :],
    ]


def _one_more(dice: random.Random, fields: Fields) -> Fields:
    more = dice.choice(EXTRA)
    at = dice.randrange(len(fields) + 1)
    return [*fields[:at], more, *fields[at:]]


def _one_less(dice: random.Random, fields: Fields) -> Fields:
    at = dice.randrange(len(fields))
    return fields[:at] + fields[at + 1 :]


EXTRA: tuple[tuple[bytes, bytes], ...] = (
    (b":authority", b"other.narrow.test"), (b":path", b"/items/admin"), (b":method", b"DELETE"), (b":scheme", b"http"), (b":protocol", b"websocket"),
    (b"host", b"other.narrow.test"), (b"host", b"api.narrow.test"), (b"connection", b"close"), (b"transfer-encoding", b"chunked"),
    (b"content-length", b"5"), (b"content-length", b"0"), (b"te", b"trailers"), (b"te", b"gzip"), (b"upgrade", b"websocket"),
    (b"expect", b"100-continue"),
    (b"x-http-method-override", b"DELETE"), (b"x-a", b"b\r\nHost: other.narrow.test"), (b"cookie", b"a=b"), (b"proxy-authorization", b"x"),
)  # fmt: skip
FIELD_CHANGES: tuple[Callable[[random.Random, Fields], Fields], ...] = (
    _another_value,
    _another_value,
    _another_name,
    _one_more,
    _one_more,
    _one_less,
)
