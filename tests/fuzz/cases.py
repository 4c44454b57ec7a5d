"""What the live fuzzer sends: good and bad requests over each transport, mutated. The same seed and number give the same bytes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import hpack

HOST = "api.narrow.test"
OTHER = "other.narrow.test"
TRANSPORTS = ("http", "connect", "https", "https", "proxy", "https/2", "https/2")  # as hostile/transports.py names them

# {at}, {more}, {auth} are filled for the transport.
HEADS = (
    "GET {at}/items/7 HTTP/1.1\r\nHost: {host}\r\n{more}\r\n",
    "HEAD {at}/items/7?x=1 HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n{more}\r\n",
    "GET {at}/items/admin HTTP/1.1\r\nHost: {host}\r\n{more}\r\n",
    "POST {at}/items/7 HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: 5\r\n\r\nhello",
    "PUT {at}/items/7 HTTP/1.1\r\nHost: {host}\r\n{more}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "GET {at}/items/7 HTTP/1.1\r\nHost: {host}\r\n{more}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "GET {at}/items/7 HTTP/1.0\r\nHost: {host}\r\n{more}\r\n",
)
TUNNELS = (
    "CONNECT {host}:80 HTTP/1.1\r\nHost: {host}:80\r\n{auth}\r\nGET /items/7 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "GET http://{host}/items/7 HTTP/1.1\r\nHost: {host}\r\n{auth}\r\nGET http://{host}/items/8 HTTP/1.1\r\nHost: {host}\r\n{auth}\r\n",
    "GET /items/7 HTTP/1.1\r\nHost: {host}\r\n{auth}\r\n",
)
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


@dataclass(frozen=True, slots=True)
class Case:
    """The bytes to send over a transport once it stands, and whether nothing was changed about a good request."""

    number: int
    transport: str
    data: bytes
    good: bool = False

    @property
    def complete(self) -> bool:
        """Whether an answer is due without another byte: HTTP/1 bytes with a whole head in them."""
        return self.good or (self.transport != "https/2" and b"\r\n\r\n" in self.data.lstrip(b"\r\n"))


def case(seed: int, number: int, authorization: str, more: Sequence[str] = ()) -> Case:
    """Case `number`; `more` are further heads to mutate, with the same places in them."""
    dice = random.Random(f"{seed}:{number}")
    transport = dice.choice(TRANSPORTS)
    if transport == "https/2":
        return Case(number, transport, *_http2(dice))
    text = dice.choice(TUNNELS if transport == "proxy" else HEADS)
    if more and transport != "proxy" and dice.randrange(3) == 0:
        text = dice.choice(more)
    changes = dice.choice((0, 0, 1, 1, 1, 2, 2, 3, 5))
    data = mutated(dice, _filled(text, transport, authorization), changes)
    return Case(number, transport, data, good=not changes and text in HEADS[:2])


def _filled(text: str, transport: str, authorization: str) -> bytes:
    auth = f"Proxy-Authorization: {authorization}\r\n"
    places = {"{at}": f"http://{HOST}", "{more}": auth} if transport == "http" else {"{at}": "", "{more}": ""}
    for place, value in {**places, "{auth}": auth, "{host}": HOST, "{v}": "HTTP/1.1"}.items():
        text = text.replace(place, value)
    return text.encode("latin-1", "replace")


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

# ---- HTTP/2 by hand (RFC 9113 section 4) ----

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


def _http2(dice: random.Random) -> tuple[bytes, bool]:
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
    body = dice.choice((b"", b"", b"", b"hello", HEADS[2].format(at="", more="", host=HOST).encode()))
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
