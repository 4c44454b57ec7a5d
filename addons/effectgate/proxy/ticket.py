"""Leave to reach one destination for one request, and the account of how it was used."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import Any

from mitmproxy import http

from effectgate.boundary import Answer, Caller, Outcome
from effectgate.proxy.occupancy import Place
from effectgate.proxy.route import Route


@dataclass(frozen=True, slots=True)
class Destination:
    """What was decided about. A request that differs from it in any part is not the one that was allowed."""

    method: bytes
    scheme: bytes
    host: str
    port: int
    path: bytes

    @classmethod
    def of(cls, request: http.Request) -> Destination:
        """The destination of a request as it would be forwarded now."""
        data = request.data
        return cls(data.method, data.scheme, data.host, data.port, data.path)


@dataclass(slots=True)
class Meter:
    """Counts and hashes a body while it streams."""

    size: int = 0
    at: float = 0.0  # when the last chunk passed, monotonic seconds
    digest: Any = field(default_factory=hashlib.sha256)

    def __call__(self, chunk: bytes) -> bytes:
        """Take note of a chunk and pass it on unchanged."""
        self.size += len(chunk)
        self.at = time.monotonic()
        self.digest.update(chunk)
        return chunk

    @property
    def sha256(self) -> str:
        """Hex digest of what has passed, or the empty string where nothing has."""
        return self.digest.hexdigest() if self.size else ""


@dataclass(slots=True, eq=False)
class Ticket:
    """Made only from a durable ALLOW; `closed` once its completion has been handed to the boundary."""

    caller: Caller
    credential: str  # the Proxy-Authorization value that it was given for
    answer: Answer
    destination: Destination
    websocket: bool = False
    place: Place | None = None
    sent: Meter = field(default_factory=Meter)
    received: Meter = field(default_factory=Meter)
    started: float = field(default_factory=time.monotonic)
    status: int = 0
    asked_again: bool = False  # the origin had closed a kept connection before it answered
    error: str = ""
    route: Route | None = None  # of the connection that carries it, or that could not be made for it
    closed: bool = False

    @property
    def endpoint(self) -> tuple[str, int]:
        """The host and port that may be dialled for it."""
        return self.destination.host, self.destination.port

    @property
    def moved(self) -> float:
        """When anything of the request or its response last passed, monotonic seconds."""
        return max(self.started, self.sent.at, self.received.at)

    def answered(self, status: int) -> None:
        """The head of the response has come."""
        self.status = status
        self.received.at = time.monotonic()

    def covers(self, request: http.Request) -> bool:
        """Whether this request is the one that was decided about."""
        return self.destination == Destination.of(request)

    def exhausted_by(self, size: int) -> bool:
        """Whether so many bytes more of body would pass what the grant's limit leaves."""
        left = self.answer.upload_left
        return left is not None and self.sent.size + size > left

    def passes(self, content: bytes, *, up: bool) -> bool:
        """Count and hash what a websocket passes on; False where it may not, for its limit or what has failed before."""
        if up and not self.error and self.exhausted_by(len(content)):
            self.error = "budget"
        if not self.error:
            (self.sent if up else self.received)(content)
        return not self.error

    def outcome(self, *, aborted: bool) -> Outcome:
        """The account as it stands."""
        return Outcome(
            success=bool(self.status) and not aborted and not self.error,
            status=self.status,
            bytes_sent=self.sent.size,
            bytes_received=self.received.size,
            duration_ms=int((time.monotonic() - self.started) * 1000),
            aborted=aborted,
            error=self.error,
            address=self.route.address if self.route else "",
            exempt=self.route.exempt if self.route else "",
            request_sha256=self.sent.sha256,
            response_sha256=self.received.sha256,
            asked_again=self.asked_again,
        )
