"""The same gate on a master that is not ours: what `mitmdump -s addons/egress.py` ends in.

Everything is put on the master itself, not under the script, so that a broken edit of the script unloads nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from mitmproxy.connection import Client, Server
from mitmproxy.master import Master

from effectgate.boundary import Boundary
from effectgate.proxy import options
from effectgate.proxy.connection import close, tell
from effectgate.proxy.dispatch import Dispatch
from effectgate.proxy.gate import Gate
from effectgate.proxy.loop import AddressGuard, GuardedLoop, Resolve
from effectgate.proxy.observer import Silent
from effectgate.proxy.patience import GiveUp
from effectgate.proxy.resolver import HostResolver
from effectgate.proxy.session import Authenticate
from effectgate.proxy.settings import Endpoint, ProxySettings
from effectgate.proxy.verdicts import Local


class AttachError(Exception):
    """This master cannot be gated; the message says why."""


class Watch:
    """Keeps the options safe: an unsafe one closes the gate until it is put back."""

    name = "effectgate-watch"

    def __init__(self, master: Master, gate: Gate, recheck_seconds: float) -> None:
        self._master = master
        self._gate = gate
        self._seconds = recheck_seconds
        self._recheck: asyncio.Task[None] | None = None

    def configure(self, updated: set[str]) -> None:
        """Look at every option after any change."""
        self._gate.sessions.closed = options.unsafe(self._master.options)

    def running(self) -> None:
        """Begin to watch for credentials that are gone."""
        self.configure(set())
        self._recheck = asyncio.ensure_future(self._recheck_forever())

    def done(self) -> None:
        """Stop watching."""
        if self._recheck is not None:
            self._recheck.cancel()

    async def _recheck_forever(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            self._gate.look()


def attach(
    master: Master,
    settings: ProxySettings,
    boundary: Boundary,
    authenticate: Authenticate,
    local: Local,
    *,
    ports: Callable[[], frozenset[int]] | None = None,
    resolve: Resolve | None = None,
) -> None:
    """Gate this master; a second call does nothing. Must run in its loop. Raises AttachError."""
    if master.addons.get(Watch.name) is not None:
        return
    gate = Gate(settings, boundary, authenticate, local, ports or (lambda: settings.ports), Silent())
    _guard_loop(settings, _listener(master), resolve or HostResolver(settings.resolve_seconds))
    proxyserver = master.addons.get("proxyserver")
    gate.sessions.disconnect = lambda client: _close(proxyserver.connections, client, client)
    gate.upstream.hang_up = lambda client, server: _close(proxyserver.connections, client, server)
    gate.upstream.tell = lambda client, event: _tell(proxyserver.connections, client, event)
    ours = (*gate.addons, Watch(master, gate, settings.recheck_seconds))
    master.addons.add(*ours)
    # Ours come first: a layer that another addon makes would already stand in the stack. A new list, for mitmproxy may be
    # walking the old one.
    master.addons.chain = [*ours, *(addon for addon in master.addons.chain if addon not in ours)]
    dispatch = Dispatch(master.addons, gate.faults, settings.decide_seconds)
    master.addons.handle_lifecycle = dispatch.handle_lifecycle  # type: ignore[method-assign]
    options.secure(master.options)
    if fault := options.unsafe(master.options):
        raise AttachError(fault)


def _listener(master: Master) -> Endpoint:
    return master.options.listen_host or "0.0.0.0", master.options.listen_port or 8080


def _guard_loop(settings: ProxySettings, listener: Endpoint, resolve: Resolve) -> None:
    loop = asyncio.get_running_loop()
    if type(loop) is not asyncio.SelectorEventLoop and not isinstance(loop, GuardedLoop):
        raise AttachError(
            f"{type(loop).__name__} resolves and connects past the address guard; run asyncio's selector loop"
        )
    # The loop runs already and was made by mitmdump; GuardedLoop adds methods and no state that a constructor sets.
    loop.__class__ = GuardedLoop
    assert isinstance(loop, GuardedLoop)
    loop.guard = AddressGuard.of(settings, frozenset({listener}), resolve)


def _close(connections: Mapping[object, object], client: Client, which: Client | Server) -> None:
    handler = connections.get(client.id)
    if handler is not None:
        close(handler, which)  # type: ignore[arg-type]


def _tell(connections: Mapping[object, object], client: Client, event: GiveUp) -> None:
    handler = connections.get(client.id)
    if handler is not None:
        tell(handler, event)  # type: ignore[arg-type]
