"""One running installation: policy, boundary, proxy, API and metrics, wired; reloaded whole, drained at the end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import structlog

from effectgate.api.local import LocalAnswers
from effectgate.app.http_api import HttpApi
from effectgate.app.proxy_settings import proxy_settings
from effectgate.app.reading import Loaded, read_all
from effectgate.app.watching import changes
from effectgate.boundary import Caller, EffectBoundary
from effectgate.identity import Identity
from effectgate.metrics import Metrics
from effectgate.policy.fault import FaultsError
from effectgate.policy.rulebook import Rulebook
from effectgate.proxy.engine import ProxyEngine
from effectgate.proxy.loop import GuardedLoop
from effectgate.receipts.evidence import Evidence
from effectgate.receipts.store_keys import installation_key, publish, signing_key
from effectgate.receipts.store_limits import Ledger, used_so_far
from effectgate.receipts.store_sqlite import SqliteStore
from effectgate.receipts.store_tokens import TokenStore
from effectgate.setting_values import parse_address

log = structlog.get_logger("effectgate")

# How long requests in flight may take to end after SIGTERM.
DRAIN_SECONDS = 10.0
CANARY_SECONDS = 0.2

Ready = Callable[["Service"], None]


class Service:
    """Everything that runs. `loaded` is what was read last without a fault."""

    def __init__(self, option: Path | None, loaded: Loaded) -> None:
        self._option = option
        self.loaded = loaded
        settings = loaded.settings
        key = signing_key(settings.state)
        settings.certs.mkdir(parents=True, exist_ok=True)
        publish(settings.certs / "receipt-trust.json", key)
        self.metrics = Metrics()
        self._store = SqliteStore(settings.state, key)
        self._tokens = TokenStore(settings.state)
        self.identity = Identity(loaded.tokens, self._tokens)
        self.boundary = EffectBoundary(
            rulebook(loaded),
            self._store,
            Evidence(installation_key(settings.state), settings.written.receipts.path),
            Ledger(lambda: used_so_far(settings.state)),
            observer=self.metrics,
            credentialed=self.identity.credentialed,
            report=_report,
        )
        self.engine = ProxyEngine(
            proxy_settings(settings),
            self.boundary,
            self._authenticate,
            LocalAnswers(lambda: self.boundary.rules),
            ports=lambda: self.boundary.rules.ports,
            observer=self.metrics.traffic,
        )
        self._missing = "the canary request has not been refused yet"
        self._api = HttpApi(parse_address(settings.written.api.http), lambda: self._missing)
        self._reload = asyncio.Event()
        self._stop = asyncio.Event()
        self._observe()

    async def run(self, ready: Ready) -> None:
        """Serve until SIGTERM or SIGINT; `ready` is called once, when the canary has been refused."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload.set)
        async with self._listening():
            tasks = [asyncio.create_task(job) for job in (self._watch(), self._reload_forever(), self._prove(ready))]
            await self._stop.wait()
            self._missing = "the service is stopping"
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        settings = self.loaded.settings
        metrics = self.metrics.serve(parse_address(settings.written.metrics))
        try:
            async with self._api.serving():
                await self.engine.start()
                yield
                log.info("draining", seconds=DRAIN_SECONDS)
                await self.engine.drain(DRAIN_SECONDS)
        finally:
            await self.boundary.close()
            self._store.close()
            self._tokens.close()
            metrics.shutdown()
            metrics.server_close()

    async def _prove(self, ready: Ready) -> None:
        """Not ready until a request that nobody may make has been refused through the real listener."""
        while not await self.engine.ready():
            self._missing = self._store.fault or self._missing
            await asyncio.sleep(CANARY_SECONDS)
        self._missing = ""
        _settle()
        ready(self)

    async def _watch(self) -> None:
        while True:
            async for _ in changes(self.loaded.settings):
                self._reload.set()
                break  # the files to watch may be others now

    async def _reload_forever(self) -> None:
        while True:
            await self._reload.wait()
            self._reload.clear()
            await self.reload()

    async def reload(self) -> bool:
        """Read all files again and swap everything at once; any fault keeps the old state. Returns whether it was swapped."""
        try:
            loaded = await asyncio.to_thread(read_all, self._option, datetime.now(UTC), self.loaded)
        except Exception as error:
            self.metrics.reloaded(False)
            lines = list(map(str, error.faults)) if isinstance(error, FaultsError) else [repr(error)]
            log.error("reload refused, the old state stays in force", faults=lines)
            return False
        for key in loaded.settings.fixed_changes(self.loaded.settings):
            log.warning("this setting takes effect after a restart", key=key)
        fresh = loaded.policy is not self.loaded.policy
        self._swap(loaded)
        if fresh:
            _settle()
        self.metrics.reloaded(True)
        log.info("reloaded", agents=len(loaded.grants), effects=len(loaded.policy.catalog.effects))
        return True

    def _swap(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.identity.configure(loaded.tokens)
        self.boundary.rules = rulebook(loaded)
        self._observe()
        self.engine.recheck()

    def _observe(self) -> None:
        catalog, grants = self.loaded.policy.catalog, self.loaded.grants
        risks = {effect.id: effect.risk.word for effect in catalog.effects.values()}
        self.metrics.configure(grants, risks, catalog.digest)
        expiries = {name: grant.expires for name, grant in grants.items() if grant.expires is not None}
        self.metrics.watch_expiry(expiries, lambda: datetime.now(UTC))

    def _authenticate(self, header: str, /) -> Caller | None:
        credential = self.identity.authenticate(header)
        return Caller(credential.name) if credential is not None else None


def rulebook(loaded: Loaded) -> Rulebook:
    """What decisions are made by."""
    return Rulebook(loaded.policy.catalog, loaded.grants, frozenset(loaded.settings.written.network.ports))


def _settle() -> None:
    """Take what has been loaded out of the collector's sight: it lives on, and walking it again and again costs latency."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _report(fault: BaseException) -> None:
    log.error("a request was refused because deciding failed", exc_info=fault)


def serve(option: Path | None, ready: Ready) -> None:
    """Serve until a signal ends it. Raises FaultsError, StoreError, TrustError, EngineError, CertificateError, OSError."""
    loaded = read_all(option, datetime.now(UTC))
    if os.geteuid() == 0:
        log.warning("running as root, which is never needed")

    async def main() -> None:
        await Service(option, loaded).run(ready)

    with asyncio.Runner(loop_factory=GuardedLoop) as runner, contextlib.suppress(KeyboardInterrupt):
        runner.run(main())
