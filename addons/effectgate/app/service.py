"""`effectgate serve`: an installation behind its listeners (proxy, API, metrics), from readiness to the last drained request."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from effectgate.app.http_api import HttpApi
from effectgate.app.installation import Installation, settle
from effectgate.app.proxy_settings import proxy_settings
from effectgate.config import Settings, deciding
from effectgate.exposure import exposures
from effectgate.isolate.kernel import hide_memory
from effectgate.proxy.engine import ProxyEngine
from effectgate.proxy.loop import GuardedLoop
from effectgate.setting_values import parse_address

log = structlog.get_logger("effectgate")

# How long requests in flight may take to end after SIGTERM.
DRAIN_SECONDS = 10.0
CANARY_SECONDS = 0.2

Ready = Callable[[Settings], None]


class Service:
    """Everything that runs, for one call of `run`."""

    def __init__(self, option: Path | None) -> None:
        self._installation = installation = Installation(option)
        settings = installation.loaded.settings
        self._settings = settings
        self._engine = ProxyEngine(
            proxy_settings(settings),
            installation.boundary,
            installation.authenticate,
            installation.local,
            ports=installation.ports,
            observer=installation.metrics.traffic,
        )
        self._missing = "the canary request has not been refused yet"
        self._api = HttpApi(parse_address(settings.written.api.http), lambda: self._missing)
        self._hangup = asyncio.Event()
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()

    async def run(self, ready: Ready) -> None:
        """Serve until SIGTERM or SIGINT; a second one ends the waiting for what is in flight.

        `ready` is called once, when the canary has been refused.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told_to_stop)
        loop.add_signal_handler(signal.SIGHUP, self._hangup.set)
        async with self._listening():
            following = self._installation.follow(self._engine.recheck)
            tasks = [asyncio.create_task(job) for job in (following, self._reload_when_told(), self._prove(ready))]
            await self._stop.wait()
            self._missing = "the service is stopping"
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _told_to_stop(self) -> None:
        if self._stop.is_set():
            self._hurry.set()
        self._stop.set()

    def warn(self) -> None:
        """Tell what an agent's user could write: whoever can edit a grant has none."""
        for exposure in exposures(deciding(self._settings)):
            log.warning(
                "others can change what decides", path=str(exposure.path), reason=exposure.reason, fix=exposure.fix
            )

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        metrics = self._installation.metrics.serve(parse_address(self._settings.written.metrics))
        try:
            async with self._api.serving():
                await self._engine.start()
                yield
                log.info("draining", seconds=DRAIN_SECONDS)
                await self._engine.drain(DRAIN_SECONDS, self._hurry.is_set)
        finally:
            await self._installation.close()
            metrics.shutdown()
            metrics.server_close()

    async def _prove(self, ready: Ready) -> None:
        """Not ready until a request that nobody may make has been refused through the real listener."""
        while not await self._engine.ready():
            self._missing = self._installation.store.fault or self._missing
            await asyncio.sleep(CANARY_SECONDS)
        self._missing = ""
        settle()
        ready(self._settings)

    async def _reload_when_told(self) -> None:
        while True:
            await self._hangup.wait()
            self._hangup.clear()
            if await self._installation.reload():
                self._engine.recheck()


def serve(option: Path | None, ready: Ready) -> None:
    """Serve until a signal ends it. Raises FaultsError, StoreError, TrustError, EngineError, CertificateError, OSError."""
    if os.geteuid() == 0:
        log.warning("running as root, which is never needed")
    hide_memory()

    async def main() -> None:
        service = Service(option)
        service.warn()
        await service.run(ready)

    with asyncio.Runner(loop_factory=GuardedLoop) as runner, contextlib.suppress(KeyboardInterrupt):
        runner.run(main())
