"""Origins on 127.0.0.1: one thread a connection, every byte kept, the reply scripted."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

Peer = socket.socket | ssl.SSLSocket
Script = Callable[["Exchange"], None]


class Exchange:
    """One accepted connection: what has been read of it, and its socket."""

    def __init__(self, peer: Peer, origin: Origin) -> None:
        self.peer = peer
        self.origin = origin
        self._buffer = b""

    def read(self, size: int = 65536) -> bytes:
        """Whatever comes next; empty at the end."""
        if self._buffer:
            data, self._buffer = self._buffer, b""
            return data
        return self._recv(size)

    def head(self) -> bytes:
        """One request head; empty at the end."""
        while b"\r\n\r\n" not in self._buffer:
            data = self._recv(65536)
            if not data:
                return b""
            self._buffer += data
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        return head + b"\r\n\r\n"

    def body(self, head: bytes) -> bytes:
        """The body that this head frames."""
        lower = head.lower()
        if b"transfer-encoding: chunked" in lower:
            return self._chunked()
        _, found, rest = lower.partition(b"content-length:")
        return self._exactly(int(rest.split(b"\r\n")[0])) if found else b""

    def send(self, data: bytes) -> None:
        """Send all of it."""
        self.peer.sendall(data)

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            data = self._recv(65536)
            if not data:
                break
            self._buffer += data
        body, self._buffer = self._buffer[:size], self._buffer[size:]
        return body

    def _chunked(self) -> bytes:
        out = b""
        while True:
            while b"\r\n" not in self._buffer:
                self._buffer += self._recv(65536)
            line, _, self._buffer = self._buffer.partition(b"\r\n")
            chunk = self._exactly(int(line, 16) + 2)[:-2]
            if not chunk:
                return out
            out += chunk

    def _recv(self, size: int) -> bytes:
        data = self.peer.recv(size)
        self.origin.received += data
        return data


def answer_ok(exchange: Exchange) -> None:
    """Answer every request on the connection with a small page."""
    while head := exchange.head():
        body = exchange.body(head)
        exchange.origin.requests.append((head, body))
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Origin: yes\r\n\r\nhello")


class Origin:
    """Listens until closed. `accepts` counts connections, `received` has every decrypted byte."""

    def __init__(self, script: Script = answer_ok, context: ssl.SSLContext | None = None) -> None:
        self.script = script
        self.context = context
        self.accepts = 0
        self.received = b""
        self.requests: list[tuple[bytes, bytes]] = []
        self.faults: list[BaseException] = []
        self._peers: list[Peer] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        """Stop listening and end every connection."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in list(self._peers):
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self.accepts += 1
            thread = threading.Thread(target=self._serve, args=(peer,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, raw: socket.socket) -> None:
        peer: Peer = raw
        self._peers.append(raw)
        try:
            if self.context is not None:
                peer = self.context.wrap_socket(raw, server_side=True)
                self._peers.append(peer)
            self.script(Exchange(peer, self))
        except (OSError, ValueError) as fault:
            self.faults.append(fault)
        finally:
            peer.close()
            raw.close()


@contextlib.contextmanager
def serving(script: Script = answer_ok, context: ssl.SSLContext | None = None) -> Iterator[Origin]:
    """An origin for the length of a test."""
    origin = Origin(script, context)
    try:
        yield origin
    finally:
        origin.close()
