"""A client of raw asyncio streams, through the proxy: HTTP/1.1 by hand, HTTP/2 by hyper-h2."""

from __future__ import annotations

import asyncio
import base64
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes

HOST = "load.test"
SECONDS = 120.0
WINDOW = 4 * 1024 * 1024
HANDSHAKE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"


@dataclass(frozen=True, slots=True)
class Way:
    """How the load reaches the proxy: its port, the agent's credential, the CA to trust."""

    port: int
    name: str
    token: str
    ca: str

    @property
    def credential(self) -> str:
        """The Proxy-Authorization line."""
        return f"Proxy-Authorization: Basic {base64.b64encode(f'{self.name}:{self.token}'.encode()).decode()}\r\n"

    @asynccontextmanager
    async def plain(self) -> AsyncIterator[Line]:
        """A connection to the proxy."""
        async with asyncio.timeout(SECONDS):
            line = Line(*await asyncio.open_connection("127.0.0.1", self.port))
        try:
            yield line
        finally:
            line.writer.transport.abort()

    @asynccontextmanager
    async def tunnel(self, port: int, alpn: Sequence[str] = ()) -> AsyncIterator[Line]:
        """A tunnel to HOST; TLS inside where `alpn` names protocols."""
        async with self.plain() as line:
            target = f"{HOST}:{port}"
            line.writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{self.credential}\r\n".encode())
            status, _ = await line.head()
            if status != 200:
                raise ConnectionError(f"CONNECT answered {status}")
            if alpn:
                await line.writer.start_tls(context(self.ca, tuple(alpn)), server_hostname=HOST)
            yield line


_contexts: dict[tuple[str, ...], ssl.SSLContext] = {}


def context(ca: str, alpn: tuple[str, ...]) -> ssl.SSLContext:
    """A client context that trusts `ca` only; made once."""
    if alpn not in _contexts:
        _contexts[alpn] = ssl.create_default_context(cafile=ca)
        _contexts[alpn].set_alpn_protocols(list(alpn))
    return _contexts[alpn]


@dataclass(slots=True)
class Line:
    """One connection, speaking HTTP/1.1."""

    reader: StreamReader
    writer: StreamWriter

    async def ask(self, head: str, body: bytes = b"") -> int:
        """Send one request and read its response whole; its status."""
        self.writer.write(head.encode() + body)
        await self.writer.drain()
        return await self.answer()

    async def answer(self) -> int:
        """Read one response and drop its body; its status."""
        async with asyncio.timeout(SECONDS):
            status, fields = await self.head()
            if fields.get("transfer-encoding") == "chunked":
                await self._chunks()
            else:
                await self._drop(int(fields.get("content-length", "0")))
            return status

    async def head(self) -> tuple[int, dict[str, str]]:
        """Read one response head: status and fields."""
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return int(first.split()[1]), fields

    async def _chunks(self) -> None:
        while size := int(await self.reader.readline(), 16):
            await self._drop(size + 2)
        await self.reader.readexactly(2)

    async def _drop(self, size: int) -> None:
        while size:
            data = await self.reader.read(min(size, 262144))
            if not data:
                raise ConnectionError("closed within a body")
            size -= len(data)


class Http2Line:
    """One HTTP/2 connection. Streams are opened together and awaited together."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._state = H2Connection(H2Configuration(header_encoding="utf-8"))
        # A usual client's window, not the protocol's 64 KiB, whose round trips would be all that is measured.
        self._state.initiate_connection()
        self._state.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: WINDOW})
        self._state.increment_flow_control_window(WINDOW)
        self._status: dict[int, int] = {}
        self._open: set[int] = set()

    async def ask(self, requests: Sequence[tuple[str, str]]) -> list[int]:
        """Send (method, path) requests without bodies at once; their statuses, 0 for a reset."""
        streams = [self.open(method, path, end=True) for method, path in requests]
        while self._open:
            await self.pump()
        return [self._status.pop(stream, 0) for stream in streams]

    def open(self, method: str, path: str, *, end: bool) -> int:
        """Begin one request."""
        stream = self._state.get_next_available_stream_id()
        pseudo = [(":method", method), (":scheme", "https"), (":authority", HOST), (":path", path)]
        self._state.send_headers(stream, pseudo, end_stream=end)
        self._open.add(stream)
        return stream

    async def upload(self, path: str, size: int, piece: bytes) -> int:
        """POST `size` bytes; the status."""
        stream = self.open("POST", path, end=False)
        while size and stream in self._open:
            room = min(size, self._state.local_flow_control_window(stream), self._state.max_outbound_frame_size)
            if room:
                self._state.send_data(stream, piece[:room], end_stream=room == size)
                size -= room
                await self._flush()
            else:
                await self.pump()
        while self._open:
            await self.pump()
        return self._status.pop(stream, 0)

    async def pump(self) -> None:
        """Send what waits, read once."""
        await self._flush()
        async with asyncio.timeout(SECONDS):
            data = await self._line.reader.read(262144)
        if not data:
            raise ConnectionError("closed")
        for event in self._state.receive_data(data):
            self._on(event)

    def _on(self, event: object) -> None:
        match event:
            case ResponseReceived():
                self._status[event.stream_id] = int(dict(event.headers)[":status"])  # type: ignore[arg-type, call-overload]
            case DataReceived():
                self._state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case StreamEnded() | StreamReset():
                self._open.discard(event.stream_id)
            case ConnectionTerminated():
                raise ConnectionError("GOAWAY")

    async def _flush(self) -> None:
        self._line.writer.write(self._state.data_to_send())
        await self._line.writer.drain()
