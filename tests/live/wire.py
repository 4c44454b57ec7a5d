"""A client that sends exactly the bytes it is told to, through the proxy or not: no library normalises them away."""

from __future__ import annotations

import base64
import json
import socket
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded, StreamReset
from websockets.sync.client import ClientConnection, connect

SECONDS = 10.0

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Response:
    """A final response."""

    status: int
    headers: dict[str, str]  # lower-case names
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which must be JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Door:
    """How one agent reaches the proxy: its address, its credential, and the CA it trusts."""

    port: int
    name: str
    token: str
    ca: Path

    @property
    def url(self) -> str:
        """As the proxy variables want it."""
        return f"http://{self.name}:{self.token}@127.0.0.1:{self.port}"

    @property
    def authorization(self) -> tuple[str, str]:
        """The header that carries the credential (RFC 7617)."""
        return ("Proxy-Authorization", "Basic " + base64.b64encode(f"{self.name}:{self.token}".encode()).decode())

    def dial(self) -> socket.socket:
        """A plain connection to the proxy."""
        return socket.create_connection(("127.0.0.1", self.port), SECONDS)

    def tunnel(self, authority: str) -> tuple[socket.socket, Response]:
        """CONNECT to `authority`; the socket is a tunnel where the response is 200."""
        connection = self.dial()
        try:
            connection.sendall(head("CONNECT", authority, [("Host", authority), self.authorization]))
            return connection, read_head(connection)
        except OSError:
            connection.close()
            raise

    def secure(self, authority: str, *, sni: str | None = None, alpn: Sequence[str] = ("http/1.1",)) -> ssl.SSLSocket:
        """CONNECT, then TLS inside; raises if the CONNECT is refused."""
        connection, answer = self.tunnel(authority)
        if answer.status != 200:
            connection.close()
            raise RefusedError(answer)
        try:
            return tls(connection, self.ca, sni or authority.rpartition(":")[0], alpn)
        except OSError:
            connection.close()
            raise


def websocket_through(door: Door, host: str, path: str) -> ClientConnection:
    """A websocket inside TLS inside a tunnel; the library only sees a connected socket, so it is told `ws:`."""
    return connect(f"ws://{host}{path}", sock=door.secure(f"{host}:443"), proxy=None, open_timeout=SECONDS)


class RefusedError(Exception):
    """A CONNECT that was not answered 200; `response` is the answer."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"CONNECT answered {response.status}")
        self.response = response


def tls(connection: socket.socket, ca: Path, name: str, alpn: Sequence[str]) -> ssl.SSLSocket:
    """TLS as a client that trusts only `ca`."""
    context = ssl.create_default_context(cafile=str(ca))
    context.set_alpn_protocols(list(alpn))
    return context.wrap_socket(connection, server_hostname=name)


def head(method: str, target: str, headers: Headers = (), body: bytes = b"") -> bytes:
    """One HTTP/1.1 request, as written; a body gets its Content-Length."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def read_head(connection: socket.socket) -> Response:
    """A response without its body, not a byte further: what follows belongs to the tunnel."""
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            raise ConnectionError(f"closed after {data!r}")
        data += byte
    status, *lines = data.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    length = int(headers.get("content-length", "0"))
    return Response(int(status.split()[1]), headers, _exactly(connection, length))


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length and (more := connection.recv(length - len(data))):
        data += more
    return data


def exchange(connection: socket.socket, request: bytes) -> Response:
    """Send one HTTP/1.1 request and read its response whole."""
    connection.sendall(request)
    response = HTTPResponse(connection, method=request.split(b" ", 1)[0].decode())
    response.begin()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Response(response.status, headers, b"" if response.status == 101 else response.read())


def exchange_h2(
    connection: ssl.SSLSocket, pseudo: Iterable[tuple[str, str]], headers: Headers, body: bytes
) -> Response:
    """Send one request on a fresh HTTP/2 connection; a reset stream has status 0."""
    state = H2Connection(
        H2Configuration(validate_outbound_headers=False, normalize_outbound_headers=False, header_encoding="latin-1")
    )
    state.initiate_connection()
    state.send_headers(1, [*pseudo, *headers], end_stream=not body)
    return _collect_h2(connection, state, body)


def _send_body(state: H2Connection, unsent: bytes) -> bytes:
    """Send as much as the windows allow; what is left."""
    while unsent and (size := min(state.local_flow_control_window(1), state.max_outbound_frame_size, len(unsent))):
        state.send_data(1, unsent[:size], end_stream=size == len(unsent))
        unsent = unsent[size:]
    return unsent


def _collect_h2(connection: ssl.SSLSocket, state: H2Connection, unsent: bytes) -> Response:
    status, fields, body = 0, dict[str, str](), b""
    unsent = _send_body(state, unsent)
    connection.sendall(state.data_to_send())
    while data := connection.recv(65536):
        for event in state.receive_data(data):
            match event:
                case ResponseReceived():
                    fields = {str(name): str(value) for name, value in event.headers}
                    status = int(fields.pop(":status"))
                case DataReceived():
                    body += event.data
                    state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case StreamEnded() | StreamReset():
                    return Response(status, fields, body)
        unsent = _send_body(state, unsent)
        connection.sendall(state.data_to_send())
    return Response(status, fields, body)
