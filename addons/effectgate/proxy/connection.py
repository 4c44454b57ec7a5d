"""One client connection as a task: mitmproxy's handler, whose failures close instead of hanging."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Literal

from mitmproxy.connection import Client, Connection, ConnectionState, Server
from mitmproxy.master import Master
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.mode_servers import ProxyConnectionHandler
from mitmproxy.proxy.mode_specs import RegularMode
from mitmproxy.proxy.server import ConnectionHandler, TimeoutWatchdog

from effectgate.proxy import backlog
from effectgate.proxy.dispatch import Dispatch, HookFaultError
from effectgate.proxy.occupancy import now
from effectgate.proxy.settings import Limits
from effectgate.proxy.watch import Watch

ExcInfo = Literal[True] | tuple[type[BaseException], BaseException, TracebackType | None] | None

# mitmproxy allows five connections to one destination, each held for as long as it lives, so that the sixth stream of an
# HTTP/2 client waits behind five long polls (mitmproxy issue 8322). This is what an HTTP/2 client may have open.
CONNECTIONS_PER_DESTINATION = 100

_LOOK_AGAIN_SECONDS = 1.0

# How long connections may take to end once they have been told to.
CLOSING_SECONDS = 5.0

# (client, the side that does not go on, why): ends that side.
GiveUp = Callable[[Client, Connection, str], None]


class AgentConnection(ProxyConnectionHandler):
    """ProxyConnectionHandler that asks `dispatch`, and closes the connection when a layer crashes."""

    def __init__(
        self, dispatch: Dispatch, master: Master, reader: Any, writer: Any, limits: Limits, give_up: GiveUp
    ) -> None:
        mode = RegularMode.parse("regular")
        super().__init__(master, reader, writer, master.options, mode)  # type: ignore[no-untyped-call]
        self._dispatch = dispatch
        self._limits = limits
        self._give_up = give_up
        self._waiting_for_client = 0
        self._client_unread = False  # we wait for an origin to take what this client has sent
        self._moved = asyncio.Event()  # something was read from some side
        self.max_conns.default_factory = lambda: asyncio.Semaphore(CONNECTIONS_PER_DESTINATION)
        self.timeout_watchdog = QuietTimer(limits.quiet_seconds, self.on_timeout)  # type: ignore[arg-type]  # float

    async def handle_hook(self, hook: commands.StartHook) -> None:
        """Run a hook; raises HookFaultError where nothing may follow it."""
        with self.timeout_watchdog.disarm():
            await self._dispatch.handle_lifecycle(hook)

    async def on_timeout(self) -> None:
        """Nothing has moved on this connection for too long."""
        self._give_up(self.client, self.client, "quiet")

    async def wakeup(self, request: commands.RequestWakeup) -> None:
        """As in the base class; a Watch wakes its layer when the client is slow or has sent all, whichever is first."""
        if not isinstance(request, Watch):
            return await super().wakeup(request)
        await request.watch(self._limits, lambda: self._client_unread)
        self.wakeup_timer.discard(asyncio.current_task())
        await self.server_event(events.Wakeup(request))
        return None

    async def drain_writers(self) -> None:
        """Stop reading while another side does not keep up; one that takes nothing for too long is given up.

        As in the base class, and for HTTP/2 peers too, whose window the socket knows nothing of.
        """
        io = self.transports.get(self.client)
        reads_client = io is not None and asyncio.current_task() is io.handler
        self._client_unread |= reads_client
        try:
            async with self._drain_lock:
                for connection in tuple(self.transports):
                    await self._drain(connection)
            self._moved.set()
            await (self._origins_keep_up() if reads_client else self._client_keeps_up())
        finally:
            self._client_unread &= not reads_client

    async def _drain(self, connection: Connection) -> None:
        io = self.transports.get(connection)
        if io is None or not isinstance(io.writer, asyncio.StreamWriter):
            return
        if not io.writer.transport.get_write_buffer_size():
            return  # as for nearly every read
        try:
            async with self._patience(connection):
                await io.writer.drain()
        except OSError as fault:
            if io.handler is not None:
                io.handler.cancel(f"Error sending data: {fault}")

    async def _origins_keep_up(self) -> None:
        # The client's window updates come by this task: it never waits while somebody waits for those.
        for server in [side for side in self.transports if side is not self.client and self._behind(side)]:
            async with self._patience(server):
                while not self._waiting_for_client and self._behind(server):
                    await self._something_moves()

    async def _client_keeps_up(self) -> None:
        if not self._behind(self.client):
            return
        self._waiting_for_client += 1
        try:
            async with self._patience(self.client):
                while self.client in self.transports and self._behind(self.client):
                    await self._something_moves()
        finally:
            self._waiting_for_client -= 1

    @contextlib.asynccontextmanager
    async def _patience(self, connection: Connection) -> AsyncIterator[None]:
        """Room for waiting until this side takes something; it is given up where that lasts too long."""
        try:
            async with asyncio.timeout(self._limits.read_seconds):
                yield
        except TimeoutError:
            self._give_up(self.client, connection, "reader")

    async def _something_moves(self) -> None:
        self._moved.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._moved.wait(), _LOOK_AGAIN_SECONDS)

    @staticmethod
    def _behind(connection: Connection) -> bool:
        return backlog.waiting(connection) > backlog.BACKLOG_BYTES

    async def hook_task(self, hook: commands.StartHook) -> None:
        """As in the base class, but a layer whose hook failed is never resumed."""
        try:
            await super().hook_task(hook)
        except HookFaultError:
            close(self, self.client)

    async def open_connection(self, command: commands.OpenConnection) -> None:
        """As in the base class, and leave nothing open when a hook failed in between."""
        try:
            await super().open_connection(command)
        except HookFaultError:
            io = self.transports.pop(command.connection, None)
            if io is not None and isinstance(io.writer, asyncio.StreamWriter):
                io.writer.close()

    async def handle_connection(self, connection: Connection) -> None:
        """As in the base class, and close the socket even when the task was cancelled while it waited for its turn."""
        io = self.transports[connection]
        try:
            await super().handle_connection(connection)
        finally:
            if self.transports.get(connection) is io:
                del self.transports[connection]
                connection.state = ConnectionState.CLOSED
            if isinstance(io.writer, asyncio.StreamWriter):
                _let_go(io.writer)

    def log(self, message: str, level: int = logging.INFO, exc_info: ExcInfo = None) -> None:
        """As in the base class. mitmproxy logs the crash of a layer and lets its client wait; here the client is let go."""
        super().log(message, level, exc_info)
        if level >= logging.ERROR and exc_info:
            close(self, self.client)


class QuietTimer(TimeoutWatchdog):
    """As the base class, on a clock that nobody sets: a jump of the day's clock ends no connection."""

    def register_activity(self) -> None:
        """Something moved."""
        self.last_activity = now()

    async def watch(self) -> None:
        """Call back once nothing has moved for the time set, and no hook runs."""
        self.register_activity()
        while (left := self.last_activity + self.timeout - now()) > 0 or self.blocker:
            await asyncio.sleep(max(left, _LOOK_AGAIN_SECONDS))
        await self.callback()


def _let_go(writer: asyncio.StreamWriter) -> None:
    """Close, and do not wait for ever for a peer to take what is left: asyncio would keep the socket until it does."""
    writer.close()
    if writer.transport.get_write_buffer_size():
        asyncio.get_running_loop().call_later(CLOSING_SECONDS, writer.transport.abort)


def close(handler: ConnectionHandler, connection: Client | Server | Connection) -> None:
    """End one connection of a handler, as mitmproxy does after its own timeout."""
    io = handler.transports.get(connection)
    if io is None:
        return
    if io.handler is not None:
        io.handler.cancel("closed by the gate")
    elif isinstance(io.writer, asyncio.StreamWriter):
        io.writer.close()


# The loop keeps only a weak reference to its tasks.
_telling: set[asyncio.Task[None]] = set()


def tell(handler: ConnectionHandler, event: events.Event) -> None:
    """Hand an event of ours to the layers of a connection, in its turn."""
    task = asyncio.ensure_future(handler.server_event(event))
    _telling.add(task)
    task.add_done_callback(_telling.discard)
