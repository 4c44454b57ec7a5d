"""A client of raw sockets: what it sends is what the test wrote."""

from __future__ import annotations

import base64
import json
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AGENT = "Basic " + base64.b64encode(b"agent:secret").decode()
AUTH = f"Proxy-Authorization: {AGENT}\r\n"


@dataclass
class Reply:
    """One parsed response."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Wire:
    """A connection to the proxy, later perhaps a TLS connection inside it."""

    def __init__(self, address: tuple[str, int], timeout: float = 8.0) -> None:
        self.sock: socket.socket | ssl.SSLSocket = socket.create_connection(address, timeout)
        self._raw = self.sock
        self._buffer = b""

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()
        self._raw.close()

    def send(self, data: str | bytes) -> None:
        """Send text as Latin-1, or bytes."""
        self.sock.sendall(data.encode("latin-1") if isinstance(data, str) else data)

    def connect(self, target: str, auth: str = AUTH, host: str | None = None) -> Reply:
        """CONNECT, and the answer to it."""
        self.send(f"CONNECT {target} HTTP/1.1\r\nHost: {host or target}\r\n{auth}\r\n")
        return self.reply(head_only=True)

    def tls(
        self, ca: Path, sni: str | None, alpn: tuple[str, ...] = ("http/1.1",), *, verify: str | None = None
    ) -> None:
        """Speak TLS from here on, trusting `ca`; `verify` is the name to check where it is not the SNI."""
        context = ssl.create_default_context(cafile=str(ca))
        context.set_alpn_protocols(list(alpn))
        if sni is None or verify is not None:
            context.check_hostname = False
        self.sock = context.wrap_socket(self.sock, server_hostname=sni)

    def reply(self, *, head_only: bool = False, to_head: bool = False) -> Reply:
        """Read one response; a body that is framed by neither length nor chunks ends with the connection."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                raise EOFError(self._buffer)
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        _, status, reason = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        code = int(status)
        no_body = to_head or code in (204, 304) or code < 200 or (head_only and code == 200)
        return Reply(code, reason, headers, b"" if no_body else self._body(headers))

    def closed(self, within: float = 2.0) -> bool:
        """Whether the other side closes within this time."""
        self.sock.settimeout(within)
        try:
            while self._more():
                pass
        except TimeoutError:
            return False
        except OSError:
            return True
        return True

    def rest(self) -> bytes:
        """Everything until the connection ends."""
        while self._more():
            pass
        data, self._buffer = self._buffer, b""
        return data

    def _body(self, headers: dict[str, str]) -> bytes:
        if "chunked" in headers.get("transfer-encoding", ""):
            return self._chunked()
        if "content-length" not in headers:
            return self.rest()
        return self.exactly(int(headers["content-length"]))

    def exactly(self, size: int) -> bytes:
        """The next `size` bytes. Raises EOFError where the connection ends before."""
        while len(self._buffer) < size:
            if not self._more():
                raise EOFError(self._buffer)
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def _chunked(self) -> bytes:
        out = b""
        while True:
            while b"\r\n" not in self._buffer:
                if not self._more():
                    raise EOFError(out)
            line, _, self._buffer = self._buffer.partition(b"\r\n")
            chunk = self.exactly(int(line, 16) + 2)[:-2]
            if not chunk:
                return out
            out += chunk

    def _more(self) -> bool:
        data = self.sock.recv(65536)
        self._buffer += data
        return bool(data)
