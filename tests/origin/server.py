"""One event loop in a thread, and as many listening origins in it as a test opens."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from origin import http1, http2
from origin.certificates import Authority
from origin.journal import Journal, Reply, Seen

Play = Callable[[Seen], Reply]


@dataclass(frozen=True, slots=True)
class Origin:
    """A listening origin: where it is, and what it was sent."""

    port: int
    journal: Journal

    @property
    def address(self) -> str:
        """As `network.resolve` wants it."""
        return f"127.0.0.1:{self.port}"


class Origins:
    """The thread, and the origins in it."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="origins", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread.start()

    def open(self, play: Play, *, tls: bool = True, alpn: Sequence[str] = ("h2", "http/1.1")) -> Origin:
        """Listen on a free port of 127.0.0.1 and answer every request with `play`."""
        listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        listening.setblocking(False)
        origin = Origin(listening.getsockname()[1], Journal())
        context = self._authority.context(alpn) if tls else None
        self._submit(self._spawn(self._accept(listening, origin.journal, play, context))).result(5)
        return origin

    def close(self) -> None:
        """Stop listening, drop every connection, end the thread."""
        self._submit(self._cancel()).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def _submit(self, coroutine: Coroutine[Any, Any, None]) -> Future[None]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _cancel(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, listening: socket.socket, journal: Journal, play: Play, context: Any) -> None:
        with listening:
            while True:
                connection, _ = await self._loop.sock_accept(listening)
                journal.accepted()
                await self._spawn(self._serve(connection, journal, play, context))

    async def _serve(self, connection: socket.socket, journal: Journal, play: Play, context: Any) -> None:
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        with contextlib.suppress(OSError, EOFError):
            transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, connection, ssl=context)
            writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
            secure = writer.get_extra_info("ssl_object")
            speak = http2.serve if secure and secure.selected_alpn_protocol() == "h2" else http1.serve
            try:
                await speak(reader, writer, journal, play)
            finally:
                writer.close()


@contextlib.contextmanager
def opened(authority: Authority) -> Iterator[Origins]:
    """Origins for the length of a `with` block."""
    origins = Origins(authority)
    try:
        yield origins
    finally:
        origins.close()
