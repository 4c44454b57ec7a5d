"""The way from a cell's door to the proxy: bytes are carried, nothing is read."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

CHUNK = 1 << 16


@contextmanager
def relaying(door: socket.socket, host: str, port: int) -> Iterator[None]:
    """Inside the block, whatever connects to `door` is connected to the proxy at `host`:`port`, from a thread of its own."""
    door.setblocking(False)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=_serve, args=(loop, door, host, port), daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        door.close()


def _serve(loop: asyncio.AbstractEventLoop, door: socket.socket, host: str, port: int) -> None:
    with contextlib.suppress(RuntimeError):  # the loop was stopped
        loop.run_until_complete(_accept(door, host, port))
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


async def _accept(door: socket.socket, host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    open_ = set[asyncio.Task[None]]()
    while True:
        try:
            inner, _ = await loop.sock_accept(door)
        except OSError:  # out of descriptors: those in use will be closed
            await asyncio.sleep(0.1)
            continue
        task = loop.create_task(_carry(inner, host, port))
        open_.add(task)
        task.add_done_callback(open_.discard)


async def _carry(inner: socket.socket, host: str, port: int) -> None:
    """One connection, both ways, until both ends have said all; a proxy that is gone closes it."""
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with inner, socket.socket(family, socket.SOCK_STREAM) as outer, contextlib.suppress(OSError):
        for end in (inner, outer):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await loop.sock_connect(outer, (host, port))
        async with asyncio.TaskGroup() as both:
            both.create_task(_copy(inner, outer))
            both.create_task(_copy(outer, inner))


async def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Until `source` ends; a broken end ends the other at once, so that nobody waits for it."""
    loop = asyncio.get_running_loop()
    try:
        while data := await loop.sock_recv(source, CHUNK):
            await loop.sock_sendall(sink, data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
