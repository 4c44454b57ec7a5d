"""HTTP/1.1 and websocket at an origin: h11 reads, the journal keeps the bytes as they came."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable

import h11
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, TextMessage

from origin.journal import Journal, Reply, Seen

_ACCEPT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3


class _Wire:
    """An h11 server over a stream, with the bytes of the request being read."""

    def __init__(self, reader: StreamReader, writer: StreamWriter, journal: Journal) -> None:
        self.reader, self.writer, self.journal = reader, writer, journal
        self.parser = h11.Connection(h11.SERVER)
        self.raw = bytearray()

    async def event(self) -> object:
        """The next event; `ConnectionClosed` at the end of the stream."""
        while (event := self.parser.next_event()) is h11.NEED_DATA:
            data = await self.reader.read(65536)
            self.journal.took(len(data))
            self.raw += data
            self.parser.receive_data(data)
        return event

    def consumed(self) -> bytes:
        """The raw bytes of the request just read; what follows stays for the next."""
        rest = self.parser.trailing_data[0]
        taken = bytes(self.raw[: len(self.raw) - len(rest)])
        self.raw = bytearray(rest)
        return taken

    async def send(self, *events: h11.InformationalResponse | h11.Response | h11.Data | h11.EndOfMessage) -> None:
        """Write `events` and wait until they are out."""
        for event in events:
            self.writer.write(self.parser.send(event) or b"")
        await self.writer.drain()


async def serve(reader: StreamReader, writer: StreamWriter, journal: Journal, play: Callable[[Seen], Reply]) -> None:
    """Answer the requests of one connection until it closes or breaks the protocol."""
    wire = _Wire(reader, writer, journal)
    try:
        while isinstance(request := await wire.event(), h11.Request):
            if not await _exchange(wire, request, play):
                return
            wire.parser.start_next_cycle()
    except h11.RemoteProtocolError:
        journal.head(Seen("http/1.1", "?", b"", "", [], raw=bytes(wire.raw)))


async def _exchange(wire: _Wire, request: h11.Request, play: Callable[[Seen], Reply]) -> bool:
    fields = list(request.headers.raw_items())
    host = next((value for name, value in request.headers if name == b"host"), b"").decode()
    seen = Seen("http/1.1", request.method.decode(), request.target, host.partition(":")[0], fields)
    wire.journal.head(seen)
    if wire.parser.they_are_waiting_for_100_continue:
        await wire.send(h11.InformationalResponse(status_code=100, headers=[]))
    while isinstance(event := await wire.event(), h11.Data):
        seen.body += event.data
    seen.raw, seen.complete = wire.consumed(), isinstance(event, h11.EndOfMessage)
    if (seen.header(b"upgrade") or b"").lower() == b"websocket":
        await _websocket(wire, seen)
        return False
    await _answer(wire, await asyncio.to_thread(play, seen), seen.method)
    return wire.parser.our_state is h11.DONE and wire.parser.their_state is h11.DONE


async def _answer(wire: _Wire, reply: Reply, method: str) -> None:
    fields = [(b"content-type", reply.content_type.encode()), (b"content-length", b"%d" % len(reply.body))]
    body = [] if method == "HEAD" or not reply.body else [h11.Data(data=reply.body)]
    await wire.send(h11.Response(status_code=reply.status, headers=[*reply.fields, *fields]), *body, h11.EndOfMessage())


async def _websocket(wire: _Wire, seen: Seen) -> None:
    """Accept the handshake and send every message back (RFC 6455)."""
    seen.protocol = "websocket"
    digest = hashlib.sha1((seen.header(b"sec-websocket-key") or b"") + _ACCEPT).digest()
    accept = [
        (b"upgrade", b"websocket"),
        (b"connection", b"upgrade"),
        (b"sec-websocket-accept", base64.b64encode(digest)),
    ]
    await wire.send(h11.InformationalResponse(status_code=101, headers=accept))
    frames = Connection(ConnectionType.SERVER, trailing_data=wire.parser.trailing_data[0])
    while data := await wire.reader.read(65536):
        wire.journal.took(len(data))
        frames.receive_data(data)
        for event in frames.events():
            wire.writer.write(_echo(frames, event, seen))
            if isinstance(event, CloseConnection):
                return
        await wire.writer.drain()


def _echo(frames: Connection, event: Event, seen: Seen) -> bytes:
    match event:
        case TextMessage() | BytesMessage():
            seen.frames.append(event.data.encode() if isinstance(event.data, str) else bytes(event.data))
            return frames.send(event)
        case Ping() | CloseConnection():
            return frames.send(event.response())
    return b""
