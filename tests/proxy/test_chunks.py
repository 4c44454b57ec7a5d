"""Chunked bodies: one table, read whole and byte by byte."""

from __future__ import annotations

from itertools import batched

import h11
import pytest
from h11._receivebuffer import ReceiveBuffer

from effectgate.proxy.chunks import LINE_BYTES, ChunkError, StrictChunkedReader, check_chunks

# What is read of each, None where it is refused.
BODIES: dict[bytes, bytes | None] = {
    b"0\r\n\r\n": b"",
    b"3\r\nabc\r\n0\r\n\r\n": b"abc",
    b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n": b"abcde",
    b"A\r\n0123456789\r\n0\r\n\r\n": b"0123456789",
    b"0000000000000000003\r\nabc\r\n000\r\n\r\n": b"abc",
    b'3 ; a ; b=c;d = "e \\" f" \r\nabc\r\n0\r\n\r\n': None,  # white space at the end of the line
    b'3 ; a ; b=c;d = "e \\" f"\r\nabc\r\n0;last\r\n\r\n': b"abc",
    b"3\r\n\r\n\r\n\r\n0\r\n\r\n": None,
    b"2\r\n\r\n\r\n0\r\n\r\n": b"\r\n",
    b"3\r\nabc\r\n0\r\nX-A: b\r\nX-B:\r\n\r\n": b"abc",
    b"3\r\nabc\r\n0\r\nX-A : b\r\n\r\n": None,
    b"3\r\nabc\r\n0\r\nX-A: b\r\n c\r\n\r\n": None,
    b"3\r\nabc\r\n0\r\nX-A: \x00\r\n\r\n": None,
    b"3\r\nabc\r\n0\r\nnonsense\r\n\r\n": None,
    b"\r\nabc\r\n0\r\n\r\n": None,
    b"g\r\nabc\r\n0\r\n\r\n": None,
    b"+3\r\nabc\r\n0\r\n\r\n": None,
    b"-3\r\nabc\r\n0\r\n\r\n": None,
    b"0x3\r\nabc\r\n0\r\n\r\n": None,
    b" 3\r\nabc\r\n0\r\n\r\n": None,
    b"3 \r\nabc\r\n0\r\n\r\n": None,
    b"3\nabc\r\n0\r\n\r\n": None,
    b"3\r\nabcd\r\n0\r\n\r\n": None,
    b"3\r\nab\r\n0\r\n\r\n": None,
    b"3\r\nabc\n0\r\n\r\n": None,
    b"3;a\nb\r\nabc\r\n0\r\n\r\n": None,
    b"3;a\rb\r\nabc\r\n0\r\n\r\n": None,
    b"3;\r\nabc\r\n0\r\n\r\n": None,
    b"8000000000000000\r\nabc\r\n0\r\n\r\n": None,
    b"3;" + b"a" * LINE_BYTES + b"\r\nabc\r\n0\r\n\r\n": None,
    b"3;" + b"a" * LINE_BYTES: None,
    b"0\r\n" + b"X-A: b\r\n" * 9000 + b"\r\n": None,
}


def read(pieces: list[bytes]) -> bytes | None:
    """What a reader makes of pieces; None where it refuses. Fails where it is not at the end when they are."""
    reader, buffer, out = StrictChunkedReader(), ReceiveBuffer(), b""
    try:
        for piece in pieces:
            buffer += piece
            while (event := reader(buffer)) is not None:
                if isinstance(event, h11.EndOfMessage):
                    return out
                out += bytes(event.data)
    except ChunkError:
        return None
    raise AssertionError("the body has no end")


@pytest.mark.parametrize(("body", "read_as"), BODIES.items(), ids=[repr(body[:40]) for body in BODIES])
def test_bodies(body: bytes, read_as: bytes | None) -> None:
    assert read([body]) == read_as
    assert read([bytes(piece) for piece in batched(body, 1)]) == read_as


@pytest.mark.parametrize("body", [body for body, read_as in BODIES.items() if read_as is not None])
def test_a_beginning_of_a_good_body_stands(body: bytes) -> None:
    for cut in range(len(body) + 1):
        check_chunks(body[:cut])


def test_what_follows_a_body_is_left_alone() -> None:
    buffer = ReceiveBuffer()
    buffer += b"0\r\n\r\nGET"
    assert isinstance(StrictChunkedReader()(buffer), h11.EndOfMessage)
    assert bytes(buffer) == b"GET"


def test_a_client_that_leaves_in_the_middle_is_told_of() -> None:
    with pytest.raises(h11.RemoteProtocolError):
        StrictChunkedReader().read_eof()
