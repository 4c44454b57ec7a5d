"""One request asked over each transport, and the answer reduced to what must be the same over all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from live.wire import Door, Headers, RefusedError, Response, exchange, exchange_h2, head

HANDSHAKE = (
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
)


@dataclass(frozen=True, slots=True)
class Request:
    """A request as a row of the table writes it; `url` is its text, never parsed by a library."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""

    @property
    def authority(self) -> str:
        """Host and port as written."""
        return self.url.split("://", 1)[1].split("/", 1)[0]

    @property
    def target(self) -> str:
        """Path and query as written."""
        return "/" + self.url.split("://", 1)[1].partition("/")[2]

    def where(self, port: int) -> str:
        """What CONNECT asks for, where the URL names no port."""
        return self.authority if self.authority.rpartition(":")[2].isdigit() else f"{self.authority}:{port}"

    @property
    def sni(self) -> str:
        """The host as a TLS client says it: no trailing dot (RFC 6066 section 3)."""
        return self.where(443).rpartition(":")[0].rstrip(".")

    @property
    def origin_form(self) -> bytes:
        """The request as it stands inside a tunnel."""
        return head(self.method, self.target, [("Host", self.authority), *self.headers], self.body)


def plain(door: Door, request: Request) -> Response:
    """Absolute-form over plain HTTP; the credential goes with the request."""
    target = f"http://{request.authority}{request.target}"
    headers = [("Host", request.authority), door.authorization, *request.headers]
    with door.dial() as connection:
        return exchange(connection, head(request.method, target, headers, request.body))


def plain_in_tunnel(door: Door, request: Request) -> Response:
    """CONNECT to port 80, then plain HTTP inside, as Node's agents do."""
    connection, answer = door.tunnel(request.where(80))
    with connection:
        return exchange(connection, request.origin_form) if answer.status == 200 else answer


def tls_1(door: Door, request: Request) -> Response:
    """CONNECT, TLS, HTTP/1.1."""
    try:
        with door.secure(request.where(443), sni=request.sni) as connection:
            return exchange(connection, request.origin_form)
    except RefusedError as refused:
        return refused.response


def tls_2(door: Door, request: Request) -> Response:
    """CONNECT, TLS, HTTP/2."""
    pseudo = [(":method", request.method), (":scheme", "https"), (":authority", request.authority)]
    headers = [(name.lower(), value) for name, value in request.headers]
    try:
        with door.secure(request.where(443), sni=request.sni, alpn=("h2",)) as connection:
            return exchange_h2(connection, [*pseudo, (":path", request.target)], headers, request.body)
    except RefusedError as refused:
        return refused.response


def websocket(door: Door, request: Request) -> Response:
    """CONNECT, TLS, and a websocket handshake."""
    return tls_1(door, Request(request.method, request.url, [*HANDSHAKE, *request.headers], request.body))


def plain_websocket(door: Door, request: Request) -> Response:
    """A websocket handshake in a plain tunnel."""
    return plain_in_tunnel(door, Request(request.method, request.url, [*HANDSHAKE, *request.headers], request.body))


TRANSPORTS: Mapping[str, Callable[[Door, Request], Response]] = {
    "http": plain,
    "connect-http": plain_in_tunnel,
    "https/1.1": tls_1,
    "https/2": tls_2,
    "websocket": websocket,
    "connect-websocket": plain_websocket,
}
PLAIN = frozenset({"http", "connect-http", "connect-websocket"})
HANDSHAKES = frozenset({"websocket", "connect-websocket"})


@dataclass(frozen=True, slots=True)
class Answer:
    """Verdict, reason code, admitting effect, and each proposal as its effect joined to what it needs beside it."""

    verdict: str
    reason_code: str
    effect: str | None
    would_admit: tuple[str, ...]

    @classmethod
    def told(cls, response: Response) -> Answer:
        """From the proxy: the body of a refusal, the headers of anything else."""
        if response.headers.get("x-effectgate-verdict", "ALLOW") != "ALLOW":
            return cls.read(json.loads(response.body))
        effect = response.headers.get("x-effectgate-effect", f"no header, status {response.status}")
        return cls(response.headers.get("x-effectgate-verdict", ""), "", effect, ())

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> Answer:
        """From JSON: a refusal, a line of `explain --batch`, or a row of the table."""
        return cls(
            facts["verdict"], facts["reason_code"] or "", facts.get("effect"), tuple(map(_joined, facts["would_admit"]))
        )


def _joined(proposal: str | Mapping[str, Any]) -> str:
    if isinstance(proposal, str):
        return proposal
    return " + ".join([proposal["effect"], *proposal.get("also", ())])
