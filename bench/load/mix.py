"""The mix of a soak: every way in, every kind of answer, in visits of one connection each."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from load.client import HANDSHAKE, HOST, Http2Line, Line, Way
from load.frames import frame, read_frame


@dataclass(slots=True)
class Tally:
    """What was asked and what came of it: (visit, status) -> requests. What was cut off on purpose has status 0."""

    wanted: int
    until: float  # on the monotonic clock
    seen: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    @property
    def asked(self) -> int:
        """Requests so far."""
        return self.seen.total()


def _get(path: str, more: str = "") -> str:
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{more}\r\n"


def _post(path: str, size: int, more: str = "") -> str:
    return f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\n{more}Content-Length: {size}\r\n\r\n"


def _number() -> int:
    return random.randrange(1_000_000)


async def _some(line: Line, prefix: str, more: str, count: int) -> list[int]:
    """Reads, and every fifth time a write."""
    statuses = []
    for turn in range(count):
        if turn % 5 == 4:
            statuses.append(await line.ask(_post(f"{prefix}/w/{_number()}", 1000, more), b"w" * 1000))
        else:
            statuses.append(await line.ask(_get(f"{prefix}/r/{_number()}", more)))
    return statuses


async def http(way: Way) -> list[int]:
    """Absolute-form, kept alive."""
    async with way.plain() as line:
        return await _some(line, f"http://{HOST}", way.credential, 50)


async def connect_http(way: Way) -> list[int]:
    """CONNECT, then plain HTTP."""
    async with way.tunnel(80) as line:
        return await _some(line, "", "", 50)


async def https_1(way: Way) -> list[int]:
    """CONNECT, TLS, HTTP/1.1, kept alive."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        return await _some(line, "", "", 50)


async def https_2(way: Way) -> list[int]:
    """CONNECT, TLS, HTTP/2, ten streams at a time."""
    async with way.tunnel(443, ("h2",)) as line:
        client, statuses = Http2Line(line), list[int]()
        for _ in range(5):
            statuses += await client.ask([("GET", f"/r/{_number()}") for _ in range(10)])
        statuses.append(await client.upload(f"/w/{_number()}", 100_000, b"w" * 100_000))
        return statuses


async def forms(way: Way) -> list[int]:
    """Bodies that are held for their decision."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        kind = "Content-Type: application/x-www-form-urlencoded\r\n"
        return [await line.ask(_post("/f", 9, kind), b"kind=good") for _ in range(10)]


async def websocket(way: Way) -> list[int]:
    """A handshake, twenty messages, a farewell."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        line.writer.write(_get("/ws?n=1", HANDSHAKE).encode())
        status, _ = await line.head()
        for size in range(1, 20_000, 1000):
            line.writer.write(frame(b"m" * size, masked=True))
            await read_frame(line.reader)
        line.writer.write(frame(b"\x03\xe8", opcode=8, masked=True))
        return [status]


async def refused(way: Way) -> list[int]:
    """What no grant holds, a body with it; what nothing names; what is ambiguous."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        statuses = [await line.ask(_get(f"/secret/{_number()}")) for _ in range(8)]
        line.writer.write(_post("/x", 200_000).encode())
        return [*statuses, await line.answer()]


async def refused_2(way: Way) -> list[int]:
    """The same over HTTP/2."""
    async with way.tunnel(443, ("h2",)) as line:
        return await Http2Line(line).ask([("GET", f"/secret/{_number()}") for _ in range(8)])


async def ambiguous(way: Way) -> list[int]:
    """Heads that are no request."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        line.writer.write(b"GET /r/1 HTTP/1.1\r\nHost: load.test\r\nHost: other.test\r\n\r\n")
        return [await line.answer()]


async def stranger(way: Way) -> list[int]:
    """No credential."""
    async with way.plain() as line:
        return [await line.ask(_get(f"http://{HOST}/r/1")) for _ in range(5)]


async def leaving(way: Way) -> list[int]:
    """Gone before the answer, within an upload, within a download."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        line.writer.write(_get(f"/r/{_number()}").encode())
        await line.writer.drain()
    async with way.tunnel(443, ("http/1.1",)) as line:
        line.writer.write(_post(f"/w/{_number()}", 1_000_000).encode() + b"w" * 100_000)
        await line.writer.drain()
    async with way.tunnel(443, ("h2",)) as h2:
        client = Http2Line(h2)
        client.open("GET", "/down?n=1000000", end=True)
        await client.pump()
    return [0, 0, 0]


Visit = Callable[[Way], Awaitable[list[int]]]

# How often each visit is made, and what may be answered.
VISITS: dict[str, tuple[Visit, int, frozenset[int]]] = {
    "http": (http, 22, frozenset({200})),
    "connect-http": (connect_http, 15, frozenset({200})),
    "https/1.1": (https_1, 22, frozenset({200})),
    "https/2": (https_2, 14, frozenset({200})),
    "forms": (forms, 12, frozenset({200})),
    "websocket": (websocket, 20, frozenset({101})),
    "refused": (refused, 14, frozenset({403, 429})),
    "refused, https/2": (refused_2, 8, frozenset({403, 429})),
    "ambiguous": (ambiguous, 6, frozenset({400, 429})),
    "no credential": (stranger, 4, frozenset({407})),
    "disconnects": (leaving, 10, frozenset({0})),
}


async def visit(way: Way, tally: Tally) -> None:
    """Visits, one after the other, until enough has been asked."""
    names, weights = list(VISITS), [weight for _, weight, _ in VISITS.values()]
    while tally.asked < tally.wanted and time.monotonic() < tally.until:
        name = random.choices(names, weights)[0]
        act, _, expected = VISITS[name]
        try:
            statuses = await act(way)
        except (OSError, EOFError, TimeoutError, ConnectionError) as fault:
            tally.faults[f"{name}: {type(fault).__name__} {fault}"] += 1
            await asyncio.sleep(0.1)
            continue
        tally.seen.update((name, status) for status in statuses)
        tally.faults.update(f"{name}: answered {status}" for status in statuses if status not in expected)
