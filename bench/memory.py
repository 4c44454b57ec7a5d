"""What large transfers cost in memory: `PYTHONPATH=addons:tests python bench/memory.py [--mib 1024]`.

Resident memory of `effectgate serve` is sampled while each row runs; a row that grows by more than 50 MiB fails the run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]

from load.client import HANDSHAKE, HOST, Http2Line, Way  # noqa: E402
from load.frames import frame, read_frame  # noqa: E402
from load.gate import AGENT, Taken, load_gate  # noqa: E402
from load.origin import listen  # noqa: E402

from live.gate import serving  # noqa: E402
from origin.certificates import Authority  # noqa: E402

ALLOWED_MIB = 50
EVENTS = 10_000
PIECE = b"u" * 262144
MESSAGE = b"m" * 65536

Row = Callable[[Way, int], Awaitable[None]]


def expect(status: int, wanted: int = 200) -> None:
    """Raise where the proxy answered something else."""
    if status != wanted:
        raise AssertionError(f"answered {status}")


async def upload_length(way: Way, size: int) -> None:
    """HTTP/1.1, Content-Length."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        line.writer.write(f"POST /w/1 HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {size}\r\n\r\n".encode())
        for _ in range(size // len(PIECE)):
            line.writer.write(PIECE)
            await line.writer.drain()
        expect(await line.answer())


async def upload_chunked(way: Way, size: int) -> None:
    """HTTP/1.1, chunked."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        line.writer.write(f"POST /w/1 HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(size // len(PIECE)):
            line.writer.write(b"%x\r\n%s\r\n" % (len(PIECE), PIECE))
            await line.writer.drain()
        line.writer.write(b"0\r\n\r\n")
        expect(await line.answer())


async def upload_h2(way: Way, size: int) -> None:
    """HTTP/2, no length."""
    async with way.tunnel(443, ("h2",)) as line:
        expect(await Http2Line(line).upload("/w/1", size, PIECE))


async def upload_plain(way: Way, size: int) -> None:
    """Absolute-form, without TLS."""
    async with way.plain() as line:
        head = f"POST http://{HOST}/w/1 HTTP/1.1\r\nHost: {HOST}\r\n{way.credential}Content-Length: {size}\r\n\r\n"
        line.writer.write(head.encode())
        for _ in range(size // len(PIECE)):
            line.writer.write(PIECE)
            await line.writer.drain()
        expect(await line.answer())


async def download(way: Way, size: int) -> None:
    """HTTP/1.1."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        expect(await line.ask(f"GET /down?n={size} HTTP/1.1\r\nHost: {HOST}\r\n\r\n"))


async def download_h2(way: Way, size: int) -> None:
    """HTTP/2."""
    async with way.tunnel(443, ("h2",)) as line:
        expect(*await Http2Line(line).ask([("GET", f"/down?n={size}")]))


async def events(way: Way, size: int) -> None:
    """Server-sent events, one a write."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        expect(await line.ask(f"GET /events?n={EVENTS} HTTP/1.1\r\nHost: {HOST}\r\n\r\n"))


async def websocket(way: Way, size: int) -> None:
    """Half of it up, the echo of it down."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        line.writer.write(f"GET /ws?n=1 HTTP/1.1\r\nHost: {HOST}\r\n{HANDSHAKE}\r\n".encode())
        expect((await line.head())[0], 101)
        for _ in range(size // len(MESSAGE) // 2):
            line.writer.write(frame(MESSAGE, masked=True))
            await line.writer.drain()
            await read_frame(line.reader)


async def websocket_small(way: Way, size: int) -> None:
    """As many messages of 100 bytes as a gibibyte has of 100 KiB."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        line.writer.write(f"GET /ws?n=1 HTTP/1.1\r\nHost: {HOST}\r\n{HANDSHAKE}\r\n".encode())
        expect((await line.head())[0], 101)
        for _ in range(size // 102400):
            line.writer.write(frame(MESSAGE[:100], masked=True))
            await read_frame(line.reader)


async def unread(way: Way, size: int) -> None:
    """A download whose client reads nothing for a while, then leaves."""
    async with way.tunnel(443, ("http/1.1",)) as line:
        line.writer.write(f"GET /down?n={size} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        line.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(3)


async def unread_h2(way: Way, size: int) -> None:
    """Twenty downloads on one HTTP/2 connection whose client takes nothing."""
    async with way.tunnel(443, ("h2",)) as line:
        client = Http2Line(line)
        for _ in range(20):
            client.open("GET", f"/down?n={size}", end=True)
        await client.pump()
        line.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(3)


ROWS: dict[str, Row] = {
    "upload, https/1.1, Content-Length": upload_length,
    "upload, https/1.1, chunked": upload_chunked,
    "upload, https/2": upload_h2,
    "upload, http": upload_plain,
    "download, https/1.1": download,
    "download, https/2": download_h2,
    f"{EVENTS} server-sent events": events,
    "websocket, 64 KiB messages": websocket,
    "websocket, 100-byte messages": websocket_small,
    "download that is not read, https/1.1": unread,
    "20 downloads that are not read, https/2": unread_h2,
}


async def watched(pid: int, row: Awaitable[None]) -> int:
    """The most resident memory, in KiB, while the row runs."""
    most = 0
    task = asyncio.ensure_future(row)
    while not task.done():
        most = max(most, Taken.by(pid).rss)
        await asyncio.wait([task], timeout=0.05)
    await task
    return max(most, Taken.by(pid).rss)


async def measure(pid: int, way: Way, mib: int) -> dict[str, float]:
    """Each row's growth in MiB over what the process took before any of them."""
    for row in ROWS.values():
        await row(way, len(PIECE))  # what is loaded once is no growth
    start = Taken.by(pid).rss
    grown = {}
    for name, row in ROWS.items():
        began = asyncio.get_running_loop().time()
        grown[name] = (await watched(pid, row(way, mib * 1024 * 1024)) - start) / 1024
        seconds = asyncio.get_running_loop().time() - began
        print(f"{name:<44}{grown[name]:8.1f} MiB{seconds:8.1f} s", flush=True)
    return grown


async def run(mib: int, directory: Path) -> int:
    """Everything; the exit status."""
    authority = Authority(directory)
    servers = [await listen(authority.context(["http/1.1"])), await listen(None)]
    gate = load_gate(directory, servers[0][1], servers[1][1], authority.pem)
    with serving(gate):
        assert gate.process is not None
        print(f"{mib} MiB each; {Taken.by(gate.process.pid)} before")
        grown = await measure(gate.process.pid, Way(gate.port, AGENT.name, AGENT.token, str(gate.ca)), mib)
    for server, _ in servers:
        server.close()
    worst = max(grown.values())
    print(f"most: {worst:.1f} MiB, allowed: {ALLOWED_MIB} MiB")
    return int(worst > ALLOWED_MIB)


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of each transfer")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        return asyncio.run(run(arguments.mib, Path(place)))


if __name__ == "__main__":
    sys.exit(main())
