"""HTTP/2 at an origin, with the h2 library."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError

from origin.journal import Journal, Reply, Seen


class _Session:
    """One connection: requests being read, and answers that wait for window."""

    def __init__(self, journal: Journal, play: Callable[[Seen], Reply]) -> None:
        self.state = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self._journal, self._play = journal, play
        self._reading: dict[int, Seen] = {}
        self._unsent: dict[int, bytes] = {}

    async def receive(self, data: bytes) -> None:
        """Act on what one read brought."""
        self._journal.took(len(data))
        for event in self.state.receive_data(data):
            match event:
                case RequestReceived():
                    self._begin(event.stream_id, [(bytes(name), bytes(value)) for name, value in event.headers])
                case DataReceived():
                    self._reading[event.stream_id].body += event.data
                    self.state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case StreamEnded():
                    await self._end(event.stream_id)
                case StreamReset():
                    self._unsent.pop(event.stream_id, None)
                case WindowUpdated():
                    self._flush()

    def _begin(self, stream: int, fields: list[tuple[bytes, bytes]]) -> None:
        pseudo = dict(fields)
        host = pseudo.get(b":authority", pseudo.get(b"host", b"")).decode().partition(":")[0]
        plain = [(name, value) for name, value in fields if not name.startswith(b":")]
        seen = Seen("h2", pseudo[b":method"].decode(), pseudo[b":path"], host, plain)
        self._reading[stream] = seen
        self._journal.head(seen)

    async def _end(self, stream: int) -> None:
        seen = self._reading.pop(stream)
        seen.complete = True
        reply = await asyncio.to_thread(self._play, seen)
        fields = [(b":status", b"%d" % reply.status), (b"content-type", reply.content_type.encode()), *reply.fields]
        self.state.send_headers(stream, [*fields, (b"content-length", b"%d" % len(reply.body))])
        self._unsent[stream] = b"" if seen.method == "HEAD" else reply.body
        self._flush()

    def _flush(self) -> None:
        for stream, body in list(self._unsent.items()):
            size = min(len(body), self.state.local_flow_control_window(stream), self.state.max_outbound_frame_size)
            while size:
                self.state.send_data(stream, body[:size])
                body = body[size:]
                size = min(len(body), self.state.local_flow_control_window(stream), size)
            self._unsent[stream] = body
            if not body:
                self.state.end_stream(stream)
                del self._unsent[stream]


async def serve(reader: StreamReader, writer: StreamWriter, journal: Journal, play: Callable[[Seen], Reply]) -> None:
    """Answer the requests of one connection until it closes or breaks the protocol."""
    session = _Session(journal, play)
    session.state.initiate_connection()
    writer.write(session.state.data_to_send())
    while data := await reader.read(65536):
        try:
            await session.receive(data)
        except ProtocolError:
            return
        finally:
            writer.write(session.state.data_to_send())
        await writer.drain()
