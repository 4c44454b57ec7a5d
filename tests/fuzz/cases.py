"""What the live fuzzer sends: good and bad requests over each transport, mutated. The same seed and number give the same bytes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from fuzz.cases_http2 import HOST, connection
from fuzz.mutation import mutated

TRANSPORTS = ("http", "connect", "https", "https", "proxy", "https/2", "https/2")  # as hostile/transports.py names them

# {at}, {more}, {auth} are filled for the transport.
HEADS = (
    "GET {at}/items/7 HTTP/1.1\r\nHost: {host}\r\n{more}\r\n",
    "HEAD {at}/items/7?x=1 HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n{more}\r\n",
    "GET {at}/items/admin HTTP/1.1\r\nHost: {host}\r\n{more}\r\n",
    "POST {at}/items/7 HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: 5\r\n\r\nhello",
    "PUT {at}/items/7 HTTP/1.1\r\nHost: {host}\r\n{more}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "GET {at}/items/7 HTTP/1.1\r\nHost: {host}\r\n{more}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "GET {at}/items/7 HTTP/1.0\r\nHost: {host}\r\n{more}\r\n",
)
TUNNELS = (
    "CONNECT {host}:80 HTTP/1.1\r\nHost: {host}:80\r\n{auth}\r\nGET /items/7 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "GET http://{host}/items/7 HTTP/1.1\r\nHost: {host}\r\n{auth}\r\nGET http://{host}/items/8 HTTP/1.1\r\nHost: {host}\r\n{auth}\r\n",
    "GET /items/7 HTTP/1.1\r\nHost: {host}\r\n{auth}\r\n",
)


@dataclass(frozen=True, slots=True)
class Case:
    """The bytes to send over a transport once it stands, and whether nothing was changed about a good request."""

    number: int
    transport: str
    data: bytes
    good: bool = False

    @property
    def complete(self) -> bool:
        """Whether an answer is due without another byte: HTTP/1 bytes with a whole head in them."""
        return self.good or (self.transport != "https/2" and b"\r\n\r\n" in self.data.lstrip(b"\r\n"))


def case(seed: int, number: int, authorization: str, more: Sequence[str] = ()) -> Case:
    """Case `number`; `more` are further heads to mutate, with the same places in them."""
    dice = random.Random(f"{seed}:{number}")
    transport = dice.choice(TRANSPORTS)
    if transport == "https/2":
        return Case(number, transport, *connection(dice))
    text = dice.choice(TUNNELS if transport == "proxy" else HEADS)
    if more and transport != "proxy" and dice.randrange(3) == 0:
        text = dice.choice(more)
    changes = dice.choice((0, 0, 1, 1, 1, 2, 2, 3, 5))
    data = mutated(dice, _filled(text, transport, authorization), changes)
    return Case(number, transport, data, good=not changes and text in HEADS[:2])


def _filled(text: str, transport: str, authorization: str) -> bytes:
    auth = f"Proxy-Authorization: {authorization}\r\n"
    places = {"{at}": f"http://{HOST}", "{more}": auth} if transport == "http" else {"{at}": "", "{more}": ""}
    for place, value in {**places, "{auth}": auth, "{host}": HOST, "{v}": "HTTP/1.1"}.items():
        text = text.replace(place, value)
    return text.encode("latin-1", "replace")
