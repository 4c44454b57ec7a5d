"""HTTP/2 frames as bytes (RFC 9113 section 4, RFC 7541): nothing here knows what a peer may send."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import hpack

from .client import Wire

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITISED = 0x20

Fields = Iterable[tuple[str, str]]


def frame(kind: int, stream: int = 0, payload: bytes = b"", flags: int = 0) -> bytes:
    """One frame, whatever it says."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def literal(name: str, value: str) -> bytes:
    """One header field, literal without indexing (RFC 7541 section 6.2.2), Latin-1, not Huffman-coded."""
    return b"\x00" + _string(name.encode("latin-1")) + _string(value.encode("latin-1"))


def block(fields: Fields) -> bytes:
    """A header block."""
    return b"".join(literal(name, value) for name, value in fields)


def headers(stream: int, fields: Fields, flags: int = END_STREAM | END_HEADERS) -> bytes:
    """A whole request head in one frame."""
    return frame(HEADERS, stream, block(fields), flags)


def _string(data: bytes) -> bytes:
    return _integer(len(data)) + data


def _integer(value: int, prefix: int = 7) -> bytes:
    # RFC 7541 section 5.1.
    top = (1 << prefix) - 1
    if value < top:
        return bytes([value])
    out, value = bytes([top]), value - top
    while value >= 128:
        out, value = out + bytes([value % 128 + 128]), value // 128
    return out + bytes([value])


@dataclass
class Heard:
    """What the other side has said on a connection so far."""

    heads: dict[int, dict[str, str]] = field(default_factory=dict)
    bodies: dict[int, bytes] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    resets: dict[int, int] = field(default_factory=dict)
    kinds: list[int] = field(default_factory=list)
    goaway: int | None = None
    closed: bool = False

    def status(self, stream: int) -> int:
        """The response's status on a stream; 0 before there is one."""
        return int(self.heads.get(stream, {}).get(":status", 0))


class FrameWire:
    """A connection that sends frames and hears frames; it opens no window and answers nothing by itself."""

    def __init__(self, wire: Wire, preface: bytes = PREFACE + frame(SETTINGS)) -> None:
        self.wire = wire
        self.heard = Heard()
        self._buffer = self._block = b""
        self._decoder = hpack.Decoder(max_header_list_size=1 << 20)
        self.send(preface)

    def send(self, *frames: bytes) -> None:
        """Send them; a peer that has gone is heard later."""
        with contextlib.suppress(OSError):
            self.wire.send(b"".join(frames))

    def until(self, *streams: int) -> Heard:
        """Listen until these streams have ended or been reset, or the connection has."""
        while not self.heard.closed and not all(s in self.heard.ended or s in self.heard.resets for s in streams):
            self._listen()
        return self.heard

    def until_closed(self) -> Heard:
        """Listen until the connection ends. Raises TimeoutError."""
        while not self.heard.closed:
            self._listen()
        return self.heard

    def _listen(self) -> None:
        try:
            data = self.wire.sock.recv(65536)
        except TimeoutError:
            raise
        except OSError:
            data = b""
        self.heard.closed |= not data
        self._buffer += data
        for kind, flags, stream, payload in self._frames():
            self._hear(kind, flags, stream, payload)

    def _frames(self) -> Iterator[tuple[int, int, int, bytes]]:
        while len(self._buffer) >= 9 and len(self._buffer) >= (end := 9 + int.from_bytes(self._buffer[:3])):
            first, self._buffer = self._buffer[:end], self._buffer[end:]
            yield first[3], first[4], int.from_bytes(first[5:9]), first[9:]

    def _hear(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        self.heard.kinds.append(kind)
        match kind:
            case 1 | 9:
                self._block += payload
                if flags & END_HEADERS:
                    fields, self._block = self._decoder.decode(self._block, raw=True), b""
                    self.heard.heads[stream] = {
                        name.decode("latin-1"): value.decode("latin-1") for name, value in fields
                    }
            case 0:
                self.heard.bodies[stream] = self.heard.bodies.get(stream, b"") + payload
            case 3:
                self.heard.resets[stream] = int.from_bytes(payload)
            case 7:
                self.heard.goaway = int.from_bytes(payload[4:8])
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            self.heard.ended.add(stream)
