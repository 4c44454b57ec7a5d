"""Chunked request bodies (RFC 9112 section 7.1), read in one way only.

h11, which mitmproxy reads them with, takes any byte but LF in an extension, and folded trailers. Extensions and trailers are
read to be dropped: no decision covers them.
"""

from __future__ import annotations

import re

import h11
from h11._receivebuffer import ReceiveBuffer

# A size line with its extensions; common servers stop at 4 KiB or before.
LINE_BYTES = 4096
TRAILER_BYTES = 64 * 1024

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = rb'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*"'
_EXTENSION = rb"[\t ]*;[\t ]*" + _TOKEN + rb"(?:[\t ]*=[\t ]*(?:" + _TOKEN + rb"|" + _QUOTED + rb"))?"
# 15 digits: a size that fits in 63 bits for every reader.
_SIZE = re.compile(rb"0*([0-9A-Fa-f]{1,15})(?:" + _EXTENSION + rb")*\r\n")
_FIELD = re.compile(_TOKEN + rb":[\t\x20-\x7e\x80-\xff]*\r\n")


class ChunkError(ValueError):
    """The body is not chunked as its head says; the message is a sentence for the client."""


class StrictChunkedReader:
    """Takes the place of h11's ChunkedReader: call it with a buffer for the next event, None where more is needed."""

    def __init__(self) -> None:
        self._left = 0  # of the chunk being read
        self._ends = False  # the line end of a chunk comes next
        self._trailers: int | None = None  # bytes of trailers read, once the last chunk has come

    def __call__(self, buffer: ReceiveBuffer) -> h11.Data | h11.EndOfMessage | None:
        """The next event. Raises ChunkError."""
        while True:
            if self._left:
                return self._data(buffer)
            if self._ends and not self._line_end(buffer):
                return None
            if self._trailers is not None:
                return self._end(buffer)
            line = _line(buffer, LINE_BYTES)
            if line is None:
                return None
            self._begin(line)

    def read_eof(self) -> None:
        """The client left. Raises h11's RemoteProtocolError, as h11's reader does."""
        raise h11.RemoteProtocolError("peer closed connection without sending complete message body")

    def _begin(self, line: bytes) -> None:
        found = _SIZE.fullmatch(line)
        if found is None:
            raise ChunkError("A chunk of the request body does not begin with its size.")
        self._left = int(found[1], 16)
        if not self._left:
            self._trailers = 0

    def _data(self, buffer: ReceiveBuffer) -> h11.Data | None:
        data = buffer.maybe_extract_at_most(self._left)
        if data is None:
            return None
        self._left -= len(data)
        self._ends = not self._left
        return h11.Data(data=bytes(data))

    def _line_end(self, buffer: ReceiveBuffer) -> bool:
        if not b"\r\n".startswith(bytes(buffer)[:2]):
            raise ChunkError("A chunk of the request body is not as long as its size.")
        if len(buffer) < 2:
            return False
        buffer.maybe_extract_at_most(2)
        self._ends = False
        return True

    def _end(self, buffer: ReceiveBuffer) -> h11.EndOfMessage | None:
        assert self._trailers is not None
        while (line := _line(buffer, TRAILER_BYTES)) is not None:
            if line == b"\r\n":
                return h11.EndOfMessage()
            self._trailers += len(line)
            if self._trailers > TRAILER_BYTES or not _FIELD.fullmatch(line):
                raise ChunkError("The trailers of the request body are no header fields, or too many.")
        return None


def check_chunks(data: bytes) -> None:
    """Raise ChunkError if this beginning of a body, however little of it there is, is not chunked."""
    buffer, reader = ReceiveBuffer(), StrictChunkedReader()
    buffer += data
    while isinstance(reader(buffer), h11.Data):
        pass


def _line(buffer: ReceiveBuffer, limit: int) -> bytes | None:
    line = buffer.maybe_extract_next_line()
    if len(line if line is not None else buffer) > limit:
        raise ChunkError("A line of the chunked request body is too long.")
    return None if line is None else bytes(line)
