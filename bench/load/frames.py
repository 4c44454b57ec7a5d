"""Websocket frames, whole and unmasked or masked with zeros (RFC 6455 section 5.2)."""

from __future__ import annotations

from asyncio import StreamReader


def frame(payload: bytes, *, opcode: int = 2, masked: bool = False) -> bytes:
    """One final frame."""
    mask, key = (0x80, b"\0\0\0\0") if masked else (0, b"")
    size = len(payload)
    if size < 126:
        length = bytes([mask | size])
    elif size < 65536:
        length = bytes([mask | 126]) + size.to_bytes(2)
    else:
        length = bytes([mask | 127]) + size.to_bytes(8)
    return bytes([0x80 | opcode]) + length + key + payload


async def read_frame(reader: StreamReader) -> tuple[int, bytes]:
    """The next frame's opcode and payload, a mask taken off."""
    first, second = await reader.readexactly(2)
    size = second & 0x7F
    if size > 125:
        size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8))
    key = await reader.readexactly(4) if second & 0x80 else b""
    payload = await reader.readexactly(size)
    if key and any(key):
        whole = int.from_bytes(payload) ^ int.from_bytes((key * (size // 4 + 1))[:size])
        payload = whole.to_bytes(size)
    return first & 0x0F, payload
