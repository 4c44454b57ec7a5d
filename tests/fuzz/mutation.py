"""Bytes changed at random, with pieces that some parser stumbles over."""

from __future__ import annotations

import random
from collections.abc import Callable

PIECES = (
    b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b"\x0b", b"\x7f", b"\xff", b"\xc3\xa4", b"\r\n ", b": ", b"%2e%2e", b"%2f", b"//", b"/../",
    b";x", b"..;/", b"%00", b"%0d%0a", b"%25", b"%5c", b"\\", b"@", b"#", b"?", b"admin", b"ADMIN", b"%61dmin", b"/items/admin", b"HTTP/1.0",
    b"HTTP/2.0", b"HTTP/0.9", b"GET ", b"DELETE ", b"TRACE ", b"get ", b"http://other.narrow.test", b"https://", b":443", b":0443", b".",
    b"Host: other.narrow.test\r\n", b"Host: api.narrow.test\r\n", b"Content-Length: 44\r\n", b"Content-Length: 0\r\n", b"0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: identity\r\n", b"Transfer-Encoding : chunked\r\n", b"Connection: close\r\n",
    b"Connection: Host\r\n", b"Upgrade: h2c\r\n", b"Upgrade: websocket\r\n", b"Expect: 100-continue\r\n", b"TE: trailers\r\n", b"5;x=\n\r\n",
    b"X-HTTP-Method-Override: DELETE\r\n", b"X-Original-URL: /items/admin\r\n", b"Proxy-Connection: close\r\n", b"ffffffffffffffff\r\n",
    b"DELETE /items/7 HTTP/1.1\r\nHost: api.narrow.test\r\n\r\n", b"GET http://other.narrow.test/ HTTP/1.1\r\n", b"_method=DELETE", b"*",
)  # fmt: skip


def mutated(dice: random.Random, data: bytes, changes: int) -> bytes:
    """The bytes after so many changes."""
    for _ in range(changes):
        at = dice.randrange(len(data) + 1)
        data = dice.choice(CHANGES)(dice, data, at)
    return data


def _insert(dice: random.Random, data: bytes, at: int) -> bytes:
    return data[:at] + dice.choice(PIECES) + data[at:]


def _at_a_line(dice: random.Random, data: bytes, at: int) -> bytes:
    at = data.find(b"\r\n", at) + 2
    return data[:at] + dice.choice(PIECES) + data[at:]


def _remove(dice: random.Random, data: bytes, at: int) -> bytes:
    return data[:at] + data[at + dice.choice((1, 1, 2, 4, 20)) :]


def _repeat(dice: random.Random, data: bytes, at: int) -> bytes:
    span = data[at : at + dice.choice((1, 4, 30, 200))]
    return data[:at] + span + data[at:]


def _flip(dice: random.Random, data: bytes, at: int) -> bytes:
    return data[:at] + bytes((dice.randrange(256),)) + data[at + 1 :]


def _case(dice: random.Random, data: bytes, at: int) -> bytes:
    size = dice.choice((1, 5, 40))
    return data[:at] + data[at : at + size].swapcase() + data[at + size :]


def _replace(dice: random.Random, data: bytes, at: int) -> bytes:
    return data[:at] + dice.choice(PIECES) + data[at + dice.choice((1, 2, 4, 9)) :]


def _lines(dice: random.Random, data: bytes, at: int) -> bytes:
    lines = data.split(b"\r\n")
    one, two = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"\r\n".join(lines)


def _again(dice: random.Random, data: bytes, at: int) -> bytes:
    return data + data


CHANGES: tuple[Callable[[random.Random, bytes, int], bytes], ...] = (
    _insert, _insert, _insert, _at_a_line, _at_a_line, _at_a_line, _remove, _repeat, _flip, _case, _replace, _replace, _lines, _again,
)  # fmt: skip
