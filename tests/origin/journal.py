"""What an origin was sent: connections, bytes, and every request as it came."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

Fields = list[tuple[bytes, bytes]]


@dataclass(slots=True)
class Seen:
    """One request at an origin. It enters the journal when its head has arrived; `complete` says that its end did too.

    `raw` is what HTTP/1.1 carried, head and body, byte for byte; empty over HTTP/2. `frames` are websocket payloads.
    """

    protocol: str  # http/1.1, h2 or websocket
    method: str
    target: bytes
    host: str
    fields: Fields
    body: bytes = b""
    raw: bytes = b""
    frames: list[bytes] = field(default_factory=list)
    complete: bool = False

    def header(self, name: bytes) -> bytes | None:
        """The first value of a header by its lower-case name."""
        return next((value for key, value in self.fields if key.lower() == name), None)


@dataclass(frozen=True, slots=True)
class Reply:
    """An origin's answer."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    fields: tuple[tuple[bytes, bytes], ...] = ()


class Journal:
    """Counts and requests of one origin; written by its thread, read by the test's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: list[Seen] = []
        self.accepts = 0
        self.received = 0  # bytes after TLS
        self.on_head: Callable[[Seen], None] = lambda seen: None

    def accepted(self) -> None:
        """Count one TCP connection, before any TLS."""
        with self._lock:
            self.accepts += 1

    def took(self, count: int) -> None:
        """Count bytes received, without TLS."""
        with self._lock:
            self.received += count

    def head(self, seen: Seen) -> None:
        """Enter a request whose head has arrived."""
        self.on_head(seen)
        with self._lock:
            self._seen.append(seen)

    def requests(self, host: str | None = None) -> list[Seen]:
        """The requests so far, of one host or of all."""
        with self._lock:
            return [seen for seen in self._seen if host is None or seen.host == host]
