"""Policy, identity, store and boundary of one installation, wired; all of its files reloaded at once, or not at all."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from pathlib import Path

import structlog

from effectgate.api.local import LocalAnswers
from effectgate.app.reading import Loaded, read_all
from effectgate.app.watching import Watched, changes
from effectgate.boundary import Caller, EffectBoundary
from effectgate.identity import Identity
from effectgate.instant import never_behind
from effectgate.metrics import Metrics
from effectgate.policy.fault import FaultsError
from effectgate.policy.rulebook import Rulebook
from effectgate.receipts.evidence import Evidence
from effectgate.receipts.store import StoreError
from effectgate.receipts.store_keys import TRUST_FILE, installation_key, publish, signing_key
from effectgate.receipts.store_limits import Ledger, used_so_far
from effectgate.receipts.store_sqlite import SqliteStore
from effectgate.receipts.store_tokens import TokenStore, remember

log = structlog.get_logger("effectgate")

# Python's own default, which the command line raises for its short life.
COLLECT_AFTER = 2000


class Installation:
    """`loaded` is what was read last without a fault. Keys and the trust file are made at the first start.

    Raises FaultsError, StoreError, TrustError, OSError.
    """

    def __init__(self, option: Path | None) -> None:
        self._option = option
        self._reloading = asyncio.Lock()
        self._now = never_behind()
        self.loaded = read_all(option, self._now())
        settings = self.loaded.settings
        key = signing_key(settings.state)
        settings.certs.mkdir(parents=True, exist_ok=True)
        publish(settings.certs / TRUST_FILE, key)
        self.metrics = Metrics()
        self.store = SqliteStore(settings.state, key)
        remember(settings.state, self.loaded.tokens)
        self._tokens = TokenStore(settings.state, self._now)
        self._identity = Identity(self.loaded.tokens, self._tokens)
        self.boundary = EffectBoundary(
            rulebook(self.loaded),
            self.store,
            Evidence(installation_key(settings.state), settings.written.receipts.path),
            Ledger(lambda: used_so_far(settings.state)),
            observer=self.metrics,
            credentialed=self._credentialed,
            report=report,
            now=self._now,
        )
        self.local = LocalAnswers(lambda: self.boundary.rules)
        self._observe()

    def authenticate(self, header: str, /) -> Caller | None:
        """The caller that a Proxy-Authorization value names. Raises StoreError where revocations cannot be read."""
        credential = self._identity.authenticate(header)
        return Caller(credential.name) if credential is not None else None

    def _credentialed(self, principal: str) -> bool:
        try:
            return self._identity.credentialed(principal)
        except StoreError as fault:  # whether it was revoked is not known
            report(fault)
            return False

    def ports(self) -> frozenset[int]:
        """`network.ports` as they are now."""
        return self.boundary.rules.ports

    async def follow(self, reloaded: Callable[[], object]) -> None:
        """Reload at every change of a file, for ever; `reloaded` is called after each that succeeded."""
        while True:
            watched = Watched.of(self.loaded.settings)
            async for _ in changes(watched):
                if await self.reload():
                    reloaded()
                if Watched.of(self.loaded.settings) != watched:
                    break

    async def reload(self) -> bool:
        """Read all files again and swap everything at once; any fault keeps the old state. Returns whether it was swapped."""
        async with self._reloading:
            return await self._reload()

    async def _reload(self) -> bool:
        try:
            loaded = await asyncio.to_thread(read_all, self._option, self._now(), self.loaded)
        except Exception as error:
            self.metrics.reloaded(False)
            lines = list(map(str, error.faults)) if isinstance(error, FaultsError) else [repr(error)]
            log.error("reload refused, the old state stays in force", faults=lines)
            return False
        for key in loaded.settings.fixed_changes(self.loaded.settings):
            log.warning("this setting takes effect after a restart", key=key)
        self._swap(loaded)
        await self._remember(loaded)
        self.metrics.reloaded(True)
        log.info("reloaded", agents=len(loaded.grants), effects=len(loaded.policy.catalog.effects))
        return True

    async def _remember(self, loaded: Loaded) -> None:
        """A store that fails must not hold up a reload that may narrow a grant."""
        try:
            await asyncio.to_thread(remember, self.loaded.settings.state, loaded.tokens)
        except StoreError as error:
            log.warning("the hashes of grants.yaml could not be kept for `token revoke`", error=str(error))

    def _swap(self, loaded: Loaded) -> None:
        fresh = loaded.policy is not self.loaded.policy
        self.loaded = loaded
        self._identity.configure(loaded.tokens)
        self.boundary.rules = rulebook(loaded)
        self._observe()
        if fresh:
            settle()

    def _observe(self) -> None:
        catalog, grants = self.loaded.policy.catalog, self.loaded.grants
        risks = {effect.id: effect.risk.word for effect in catalog.effects.values()}
        self.metrics.configure(grants, risks, catalog.digest)
        expiries = {name: grant.expires for name, grant in grants.items() if grant.expires is not None}
        self.metrics.watch_expiry(expiries, self._now)

    async def close(self) -> None:
        """Write what is still open, then let go of the store."""
        await self.boundary.close()
        self.store.close()
        self._tokens.close()


def rulebook(loaded: Loaded) -> Rulebook:
    """What decisions are made by."""
    return Rulebook(loaded.policy.catalog, loaded.grants, frozenset(loaded.settings.written.network.ports))


def report(fault: BaseException) -> None:
    """For the operator: a refusal whose cause the agent is not told."""
    log.error("a request was refused because deciding failed", exc_info=fault)


def settle() -> None:
    """Take what has been loaded out of the collector's sight: it lives on, and walking it again and again costs latency."""
    gc.set_threshold(COLLECT_AFTER)
    gc.unfreeze()
    gc.collect()
    gc.freeze()
