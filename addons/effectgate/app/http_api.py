"""The HTTP API on uvicorn, inside our own event loop and without uvicorn's signal handlers and logging."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import uvicorn

from effectgate.api.health import build_api
from effectgate.setting_values import Address

STOP_SECONDS = 2


class _Server(uvicorn.Server):
    """The program has its own signal handlers."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpApi:
    """`ready` answers with the empty text, or with what is still missing."""

    def __init__(self, address: Address, ready: Callable[[], str]) -> None:
        self._address = address
        self._ready = ready

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve inside the block. Raises OSError if the port is taken."""
        config = uvicorn.Config(
            build_api(self._ready),
            log_config=None,
            access_log=False,
            lifespan="off",
            loop="none",
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        server = _Server(config)
        with listener(self._address) as sock:
            task = asyncio.create_task(server.serve(sockets=[sock]))
            try:
                yield
            finally:
                server.should_exit = True
                await task


def listener(address: Address) -> socket.socket:
    """A listening socket. Raises OSError whose text names the address."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        raise OSError(error.errno, f"{os.strerror(error.errno or 0)}: {address}") from error
