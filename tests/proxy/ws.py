"""WebSocket by hand."""

from __future__ import annotations

import base64
import hashlib

from .client import Reply, Wire
from .origins import Exchange

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT = base64.b64encode(hashlib.sha1(f"{KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()


def handshake(wire: Wire, host: str, target: str = "/ws", more: str = "") -> Reply:
    """Ask for a websocket; the answer's body is not read."""
    wire.send(
        f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
    )
    return wire.reply()


def frame(payload: bytes, *, masked: bool, opcode: int = 1, final: bool = True) -> bytes:
    """One frame; the mask is zero, so that payloads can be found in what an origin received."""
    first = bytes([(0x80 if final else 0) | opcode])
    mask, key = (0x80, b"\0\0\0\0") if masked else (0, b"")
    if len(payload) < 126:
        return first + bytes([mask | len(payload)]) + key + payload
    if len(payload) < 65536:
        return first + bytes([mask | 126]) + len(payload).to_bytes(2) + key + payload
    return first + bytes([mask | 127]) + len(payload).to_bytes(8) + key + payload


def heard(received: bytes) -> list[tuple[int, bytes]]:
    """Opcode and payload of each whole frame (shorter than 126 bytes) behind a handshake; a proxy masks what it relays."""
    rest, frames = received.partition(b"\r\n\r\n")[2], []
    while len(rest) >= 6 and len(rest) >= 6 + (rest[1] & 0x7F):
        end = 6 + (rest[1] & 0x7F)
        frames.append((rest[0] & 0xF, bytes(byte ^ rest[2 + at % 4] for at, byte in enumerate(rest[6:end]))))
        rest = rest[end:]
    return frames


def websocket_origin(exchange: Exchange) -> None:
    """Accepts the handshake and says `hi` to whatever comes."""
    head = exchange.head()
    exchange.origin.requests.append((head, b""))
    exchange.send(
        f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {ACCEPT}\r\n\r\n".encode()
    )
    while exchange.read():
        exchange.send(frame(b"hi", masked=False))
