"""One client connection as a task: mitmproxy's handler, whose failures close instead of hanging."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal

from mitmproxy.connection import Client, Connection, ConnectionState, Server
from mitmproxy.master import Master
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.mode_servers import ProxyConnectionHandler
from mitmproxy.proxy.mode_specs import RegularMode
from mitmproxy.proxy.server import ConnectionHandler

from effectgate.proxy import backlog
from effectgate.proxy.dispatch import Dispatch, HookFaultError

ExcInfo = Literal[True] | tuple[type[BaseException], BaseException, TracebackType | None] | None

# mitmproxy allows five connections to one destination, each held for as long as it lives, so that the sixth stream of an
# HTTP/2 client waits behind five long polls (mitmproxy issue 8322). This is what an HTTP/2 client may have open.
CONNECTIONS_PER_DESTINATION = 100

_LOOK_AGAIN_SECONDS = 1.0


class AgentConnection(ProxyConnectionHandler):
    """ProxyConnectionHandler that asks `dispatch`, and closes the connection when a layer crashes."""

    def __init__(self, dispatch: Dispatch, master: Master, reader: Any, writer: Any) -> None:
        mode = RegularMode.parse("regular")
        super().__init__(master, reader, writer, master.options, mode)  # type: ignore[no-untyped-call]
        self._dispatch = dispatch
        self._waiting_for_client = 0
        self._moved = asyncio.Event()  # something was read from some side
        self.max_conns.default_factory = lambda: asyncio.Semaphore(CONNECTIONS_PER_DESTINATION)

    async def handle_hook(self, hook: commands.StartHook) -> None:
        """Run a hook; raises HookFaultError where nothing may follow it."""
        with self.timeout_watchdog.disarm():
            await self._dispatch.handle_lifecycle(hook)

    async def drain_writers(self) -> None:
        """As in the base class, and wait for HTTP/2 peers too, whose window the socket knows nothing of."""
        await super().drain_writers()  # type: ignore[no-untyped-call]
        self._moved.set()
        io = self.transports.get(self.client)
        if io is not None and asyncio.current_task() is io.handler:
            # The client's window updates come by this task: it never waits while somebody waits for those.
            await self._while(lambda: not self._waiting_for_client and any(map(self._behind, self._servers())))
        else:
            self._waiting_for_client += 1
            try:
                await self._while(lambda: self.client in self.transports and self._behind(self.client))
            finally:
                self._waiting_for_client -= 1

    async def _while(self, condition: Callable[[], bool]) -> None:
        while condition():
            self._moved.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), _LOOK_AGAIN_SECONDS)

    def _servers(self) -> list[Connection]:
        return [connection for connection in self.transports if connection is not self.client]

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
                io.writer.close()

    def log(self, message: str, level: int = logging.INFO, exc_info: ExcInfo = None) -> None:
        """As in the base class. mitmproxy logs the crash of a layer and lets its client wait; here the client is let go."""
        super().log(message, level, exc_info)
        if level >= logging.ERROR and exc_info:
            close(self, self.client)


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
