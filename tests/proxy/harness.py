"""A proxy in a thread of its own, with a resolver that is counted and a boundary that is a table."""

from __future__ import annotations

import asyncio
import io
import ssl
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from effectgate.boundary import Caller, Outcome
from effectgate.proxy import certs
from effectgate.proxy.engine import ProxyEngine
from effectgate.proxy.loop import GuardedLoop, ResolveError
from effectgate.proxy.settings import ProxySettings

from .client import AGENT, AUTH, Reply, Wire
from .fake import FakeBoundary

T = TypeVar("T")


def eventually(condition: Callable[[], bool], within: float = 3.0) -> bool:
    """Whether the condition comes true in time."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


class Names:
    """A resolver by table; every question is counted."""

    def __init__(self) -> None:
        self.table: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.delay = 0.0

    async def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        await asyncio.sleep(self.delay)
        found = self.table.get(host)
        if found is None:
            raise ResolveError("there is no such name")
        return found


class Proxy:
    """A running engine. `call` runs a coroutine function in its loop."""

    def __init__(self, settings: ProxySettings) -> None:
        self.boundary = FakeBoundary()
        self.names = Names()
        self.tokens = {AGENT: "agent"}
        self.settings = settings
        self.engine: ProxyEngine
        self._started = threading.Event()
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Proxy:
        """Listen; raises what the engine raised."""
        self._thread.start()
        assert self._started.wait(20)
        if self._fault is not None:
            raise self._fault
        return self

    def stop(self) -> None:
        """Drain and end the thread."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), self._stuck()

    def _stuck(self) -> str:
        out = io.StringIO()
        for task in asyncio.all_tasks(self._loop):
            task.print_stack(file=out)
        return out.getvalue()

    def call(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run in the engine's loop and wait."""
        return asyncio.run_coroutine_threadsafe(function(), self._loop).result(20)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        return self.engine.address

    @property
    def ca(self) -> Path:
        """The certificate to trust."""
        return self.settings.certs / "ca.pem"

    def wire(self) -> Wire:
        """A fresh connection to it."""
        return Wire(self.address)

    def tunnel(self, target: str, alpn: tuple[str, ...] = ("http/1.1",)) -> Wire:
        """A TLS connection inside a CONNECT tunnel."""
        wire = self.wire()
        answer = wire.connect(target)
        assert answer.status == 200, answer
        wire.tls(self.ca, target.rpartition(":")[0].lower().rstrip("."), alpn)
        return wire

    def get(
        self, url_host: str, path: str = "/", *, scheme: str = "https", method: str = "GET", more: str = ""
    ) -> Reply:
        """One HTTP/1.1 request, by tunnel or absolute form."""
        head = f"{path} HTTP/1.1\r\nHost: {url_host}\r\n{more}"
        if scheme == "https":
            with self.tunnel(f"{url_host}:443") as wire:
                wire.send(f"{method} {head}\r\n")
                return wire.reply(to_head=method == "HEAD")
        with self.wire() as wire:
            wire.send(f"{method} http://{url_host}{head}{AUTH}\r\n")
            return wire.reply(to_head=method == "HEAD")

    def outcome(self) -> Outcome:
        """The only completion; it comes a moment after the response."""
        assert eventually(lambda: bool(self.boundary.completed))
        ((_, outcome),) = self.boundary.completed
        return outcome

    def _authenticate(self, header: str, /) -> Caller | None:
        principal = self.tokens.get(header)
        return Caller(principal) if principal else None

    async def _local(
        self, principal: str, method: str, path: str, body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        text = f"{principal} {method} {path} {len(body)}".encode()
        return 200, [("Content-Type", "text/plain"), ("Content-Length", str(len(text)))], text

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=GuardedLoop) as runner:
            runner.run(self._main())

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            self.engine = ProxyEngine(self.settings, self.boundary, self._authenticate, self._local, resolve=self.names)
            await self.engine.start()
        except BaseException as fault:
            self._fault = fault
            self._started.set()
            return
        self._started.set()
        await self._stop.wait()
        await self.engine.drain(0)


def origin_context(directory: Path, name: str, alpn: tuple[str, ...] = ("http/1.1",)) -> ssl.SSLContext:
    """A server context for `name`, signed by the CA in `directory` (made there if need be)."""
    from cryptography.hazmat.primitives import serialization

    entry = certs.load_or_create(directory).leaf((name,))
    pem = directory / f"{name}.leaf"
    key = entry.privatekey.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem.write_bytes(key + entry.cert.to_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.set_alpn_protocols(list(alpn))
    return context


def resolving(settings: ProxySettings, host: str, port: int, to: int) -> ProxySettings:
    """The settings with one more static answer."""
    return replace(settings, resolve={**settings.resolve, (host, port): ("127.0.0.1", to)})
