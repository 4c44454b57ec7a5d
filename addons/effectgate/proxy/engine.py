"""The proxy as a part of our own program: mitmproxy's master with the few addons it needs, behind our gate."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import Callable

from mitmproxy.addons.block import Block
from mitmproxy.addons.core import Core
from mitmproxy.addons.errorcheck import ErrorCheck
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import Client, Connection, Server
from mitmproxy.master import Master
from mitmproxy.options import Options
from mitmproxy.proxy.layers import modes

from effectgate.boundary import Boundary
from effectgate.proxy import certs, options
from effectgate.proxy.canary import Canary
from effectgate.proxy.connection import CLOSING_SECONDS, AgentConnection, close, tell
from effectgate.proxy.dispatch import Dispatch
from effectgate.proxy.gate import Gate
from effectgate.proxy.loop import AddressGuard, GuardedLoop, Resolve
from effectgate.proxy.observer import Observer, Silent
from effectgate.proxy.patience import GiveUp
from effectgate.proxy.resolver import HostResolver
from effectgate.proxy.session import Authenticate
from effectgate.proxy.settings import Endpoint, ProxySettings
from effectgate.proxy.tls import Tls, trust_bundle
from effectgate.proxy.verdicts import Local

_BUSY = json.dumps(
    {
        "verdict": "DENY",
        "reason_code": "TEMPORAL_THROTTLE",
        "reason": "Too many connections are open.",
        "receipt_id": None,
    }
).encode()
_BUSY_RESPONSE = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nConnection: close\r\nRetry-After: 1\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_BUSY), _BUSY)
)


class EngineError(Exception):
    """The proxy cannot start safely; the message says why and what to do."""


class ProxyEngine:
    """Start, check, drain. Must run in a GuardedLoop."""

    def __init__(
        self, settings: ProxySettings, boundary: Boundary, authenticate: Authenticate, local: Local, *,
        ports: Callable[[], frozenset[int]] | None = None, observer: Observer | None = None,
        resolve: Resolve | None = None,
    ) -> None:  # fmt: skip
        self.settings = settings
        self._canary = Canary(authenticate)
        self._resolve = resolve or HostResolver(settings.resolve_seconds)
        self._observer = observer or Silent()
        self.gate = Gate(
            settings, boundary, self._canary.authenticate, local, ports or (lambda: settings.ports), self._observer
        )
        self.gate.sessions.disconnect = self._disconnect
        self.gate.upstream.hang_up = self._hang_up
        self.gate.upstream.tell = self._tell
        self._connections: dict[str, AgentConnection] = {}
        self._server: asyncio.Server | None = None
        self._recheck: asyncio.Task[None] | None = None

    @property
    def address(self) -> Endpoint:
        """Where the proxy listens."""
        assert self._server is not None
        host, port, *_ = self._server.sockets[0].getsockname()
        return host, port

    async def start(self, sock: socket.socket | None = None) -> None:
        """Listen, on `sock` if one is passed. Raises EngineError, CertificateError or OSError."""
        loop = asyncio.get_running_loop()
        if not isinstance(loop, GuardedLoop):
            raise EngineError("the proxy must run in a GuardedLoop: asyncio.Runner(loop_factory=GuardedLoop)")
        loop.set_task_factory(asyncio.eager_task_factory)  # as Master.run does; a task for each hook is a large cost
        self.master = self._make_master()
        self._dispatch = Dispatch(self.master.addons, self.gate.faults, self.settings.decide_seconds)
        if sock is None:
            host, port = self.settings.listen
            # By number: the guard resolves nothing yet, and connections accepted inside `own_traffic` would inherit its leave.
            self._server = await asyncio.start_server(self._accept, "127.0.0.1" if host == "localhost" else host, port)
        else:
            self._server = await asyncio.start_server(self._accept, sock=sock)
        loop.guard = AddressGuard.of(self.settings, frozenset({self.address}), self._resolve)
        self._recheck = asyncio.create_task(self._recheck_forever())

    async def ready(self) -> bool:
        """Whether a canary request through the real listener is refused by the boundary, and for its policy."""
        return await self._canary.refused(self.address)

    def recheck(self) -> int:
        """Close every connection whose credential or grant is gone; to be called after a reload. Returns how many."""
        return self.gate.look()

    async def drain(self, seconds: float, hurry: Callable[[], bool] = lambda: False) -> None:
        """Stop listening, wait for what is in flight until `seconds` are over or somebody is in a hurry, then close everything."""
        self.gate.sessions.stopping = True
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.gate.sessions.busy and not hurry():
                    await asyncio.sleep(0.02)
        if self._recheck is not None:
            self._recheck.cancel()
        for session in self.gate.sessions:
            session.cut = True
        for handler in tuple(self._connections.values()):
            close(handler, handler.client)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                while self._connections:
                    await asyncio.sleep(0.01)
        await self.gate.completion.drain()

    def _make_master(self) -> Master:
        opts = Options()
        master = Master(opts, asyncio.get_running_loop())
        master._legacy_log_events.uninstall()  # would turn every log record into an event
        logging.getLogger("mitmproxy").setLevel(logging.WARNING)
        # It warns that its NextLayer addon is missing; ours (tunnel.py) stands in its place.
        logging.getLogger("mitmproxy.addons.proxyserver").setLevel(logging.ERROR)
        check = ErrorCheck()
        authority = certs.load_or_create(self.settings.certs)
        master.addons.add(check, Core(), Proxyserver(), Block(), *self.gate.addons, Tls(authority))
        options.secure(opts)
        if self.settings.upstream_ca is not None:
            bundle = trust_bundle(self.settings.upstream_ca, self.settings.certs)
            opts.update(ssl_verify_upstream_trusted_ca=str(bundle))
        check.finish()
        if check.logger.has_errored:
            raise EngineError("; ".join(record.getMessage() for record in check.logger.has_errored))
        if fault := options.unsafe(opts):
            raise EngineError(fault)
        return master

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.gate.patrol.make_room(len(self._connections)):
            self._observer.unreceipted("connections")
            writer.write(_BUSY_RESPONSE)
            writer.close()
            return
        handler = AgentConnection(self._dispatch, self.master, reader, writer, self.settings.limits, self._give_up)
        handler.layer = modes.HttpProxy(handler.layer.context)
        self._connections[handler.client.id] = handler
        try:
            await handler.handle_client()
        finally:
            del self._connections[handler.client.id]

    async def _recheck_forever(self) -> None:
        while True:
            await asyncio.sleep(self.settings.recheck_seconds)
            self.gate.look()

    def _disconnect(self, client: Client) -> None:
        if (handler := self._connections.get(client.id)) is not None:
            close(handler, client)

    def _give_up(self, client: Client, connection: Connection, kind: str) -> None:
        if isinstance(connection, Server):
            self.gate.upstream.late(client, connection)
        else:
            self.gate.patrol.give_up(client, kind)

    def _hang_up(self, client: Client, server: Server) -> None:
        if (handler := self._connections.get(client.id)) is not None:
            close(handler, server)

    def _tell(self, client: Client, event: GiveUp) -> None:
        if (handler := self._connections.get(client.id)) is not None:
            tell(handler, event)
