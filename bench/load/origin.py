"""An origin that keeps nothing: small answers, large ones, event streams, uploads counted, websocket frames returned."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import ssl
from asyncio import StreamReader, StreamWriter
from urllib.parse import parse_qs, urlsplit

from load.frames import frame, read_frame

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3
_CHUNK = b"x" * 65536


async def listen(context: ssl.SSLContext | None) -> tuple[asyncio.Server, int]:
    """Listen on a free port of 127.0.0.1; the server and its port."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, ssl=context, backlog=512)
    return server, int(server.sockets[0].getsockname()[1])


async def _serve(reader: StreamReader, writer: StreamWriter) -> None:
    with contextlib.suppress(OSError, EOFError, ssl.SSLError):
        while await _answer(reader, writer):
            await writer.drain()
    writer.close()
    with contextlib.suppress(OSError, ssl.SSLError):
        await writer.wait_closed()


async def _answer(reader: StreamReader, writer: StreamWriter) -> bool:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return False
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in head.split(b"\r\n"))}
    url = urlsplit(head.split(b" ", 2)[1].decode())
    size = int(parse_qs(url.query).get("n", ["0"])[0])
    match url.path:
        case "/ws":
            await _websocket(reader, writer, fields[b"sec-websocket-key"], size)
            return False
        case "/down":
            await _download(writer, size)
        case "/events":
            await _events(writer, size)
        case _:
            took = b"%d" % await _body(reader, fields)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(took), took))
    return True


async def _body(reader: StreamReader, fields: dict[bytes, bytes]) -> int:
    if fields.get(b"transfer-encoding") != b"chunked":
        return await _drop(reader, int(fields.get(b"content-length", b"0")))
    total = 0
    while size := int(await reader.readline(), 16):
        total += await _drop(reader, size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return total


async def _drop(reader: StreamReader, size: int) -> int:
    left = size
    while left:
        data = await reader.read(min(left, 262144))
        if not data:
            raise EOFError
        left -= len(data)
    return size


async def _download(writer: StreamWriter, size: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
    for _ in range(size // len(_CHUNK)):
        writer.write(_CHUNK)
        await writer.drain()
    writer.write(_CHUNK[: size % len(_CHUNK)])


async def _events(writer: StreamWriter, count: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for number in range(count):
        event = b"id: %d\ndata: %s\n\n" % (number, b"e" * 200)
        writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        await writer.drain()
        await asyncio.sleep(0)  # one event a write, as a stream has them
    writer.write(b"0\r\n\r\n")


async def _websocket(reader: StreamReader, writer: StreamWriter, key: bytes, echo: int) -> None:
    """Accept; every message is returned where `echo` is set, else a short one for each."""
    accept = base64.b64encode(hashlib.sha1(key + _GUID).digest())
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n"
        % accept
    )
    while True:
        opcode, payload = await read_frame(reader)
        writer.write(frame(payload if echo or opcode == 8 else b"ok", opcode=opcode))
        await writer.drain()
        if opcode == 8:
            return
