"""HTTP/2 by hand on both sides: nothing here corrects what a test sends."""

from __future__ import annotations

from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import h2.settings

from .client import Wire
from .origins import Exchange

Headers = list[tuple[str, str]]
_LOOSE = {"validate_outbound_headers": False, "normalize_outbound_headers": False}


@dataclass
class Stream:
    """What came back on one stream."""

    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: bool = False
    reset: int | None = None

    @property
    def status(self) -> int:
        """The response's status; 0 before there is one."""
        return int(self.headers.get(":status", 0))


class Http2Wire:
    """An HTTP/2 client on a TLS tunnel."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.conn = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8", **_LOOSE))
        self.conn.initiate_connection()
        self.streams: dict[int, Stream] = {}
        self.gone = False
        self.flush()

    def flush(self) -> None:
        """Send what has been queued."""
        self.wire.send(self.conn.data_to_send())

    def open(self, headers: Headers, *, end: bool = True) -> int:
        """Begin a request; returns its stream."""
        stream = self.conn.get_next_available_stream_id()
        self.conn.send_headers(stream, headers, end_stream=end)
        self.streams[stream] = Stream()
        self.flush()
        return stream

    def data(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send body bytes, waiting for window."""
        while data:
            size = min(len(data), self.conn.local_flow_control_window(stream), self.conn.max_outbound_frame_size)
            if size == 0:
                self.pump()
                continue
            self.conn.send_data(stream, data[:size], end_stream=end and size == len(data))
            data = data[size:]
            self.flush()

    def pump(self) -> None:
        """Read once."""
        data = self.wire.sock.recv(65536)
        if not data:
            self.gone = True
            raise EOFError
        for event in self.conn.receive_data(data):
            self._on(event)
        self.flush()

    def wait(self, stream: int) -> Stream:
        """Read until a stream has ended."""
        found = self.streams[stream]
        while not (found.ended or found.reset is not None):
            self.pump()
        return found

    def get(self, host: str, path: str = "/", method: str = "GET", more: Headers | None = None) -> Stream:
        """One request without a body."""
        return self.wait(self.open(request(host, path, method, more)))

    def _on(self, event: h2.events.Event) -> None:
        found = self.streams.get(getattr(event, "stream_id", 0) or 0)
        match event:
            case h2.events.ResponseReceived() if found:
                found.headers = {str(k): str(v) for k, v in event.headers}  # type: ignore[misc]
            case h2.events.DataReceived() if found:
                found.body += event.data
                self.conn.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded() if found:
                found.ended = True
            case h2.events.StreamReset() if found:
                found.reset = int(event.error_code)
            case h2.events.ConnectionTerminated():
                self.gone = True


def request(host: str, path: str = "/", method: str = "GET", more: Headers | None = None) -> Headers:
    """The usual pseudo-headers."""
    return [(":method", method), (":scheme", "https"), (":authority", host), (":path", path), *(more or [])]


def answer_http2(exchange: Exchange) -> None:
    """An HTTP/2 origin: remembers headers and bodies, answers 200 `hello2`."""
    conn = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
    conn.initiate_connection()
    exchange.send(conn.data_to_send())
    heads: dict[int, Headers] = {}
    bodies: dict[int, bytes] = {}
    while data := exchange.read():
        for event in conn.receive_data(data):
            match event:
                case h2.events.RequestReceived():
                    heads[event.stream_id], bodies[event.stream_id] = list(event.headers), b""  # type: ignore[arg-type]
                case h2.events.DataReceived():
                    bodies[event.stream_id] += event.data
                    conn.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case h2.events.TrailersReceived():
                    heads[event.stream_id] += list(event.headers)  # type: ignore[arg-type]
                case h2.events.StreamEnded():
                    head = "\r\n".join(f"{name}: {value}" for name, value in heads[event.stream_id]).encode()
                    exchange.origin.requests.append((head, bodies[event.stream_id]))
                    conn.send_headers(event.stream_id, [(":status", "200"), ("x-origin", "yes")])
                    conn.send_data(event.stream_id, b"hello2", end_stream=True)
        exchange.send(conn.data_to_send())
