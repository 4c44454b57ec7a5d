"""What is asserted before anything is served, and what ends with it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.master import Master
from mitmproxy.options import Options

from effectgate.proxy import options
from effectgate.proxy.engine import EngineError, ProxyEngine
from effectgate.proxy.settings import ProxySettings

from .fake import FakeBoundary
from .harness import Proxy, eventually
from .origins import Exchange, Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]

UNSAFE: dict[str, Any] = {
    "connection_strategy": "eager", "rawtcp": True, "validate_inbound_headers": False, "ssl_insecure": True,
    "ignore_hosts": [".*"], "allow_hosts": ["a"], "tcp_hosts": ["a"], "stream_large_bodies": "1m", "body_size_limit": "1m",
    "store_streamed_bodies": True, "http2": False, "http3": True, "mode": ["socks5"], "upstream_cert": True,
}  # fmt: skip


def secured() -> Options:
    """Options as the engine has them."""

    async def make() -> Options:
        master = Master(Options(), asyncio.get_running_loop())
        master._legacy_log_events.uninstall()
        master.addons.add(Proxyserver(), TlsConfig())
        options.secure(master.options)
        return master.options

    return asyncio.run(make())


def test_secured_options_are_safe() -> None:
    assert options.unsafe(secured()) == ""


@pytest.mark.parametrize("name", UNSAFE)
def test_an_unsafe_option_is_named_with_its_reason(name: str) -> None:
    opts = secured()
    opts._options[name].value = UNSAFE[name]
    said = options.unsafe(opts)
    assert said.startswith(f"mitmproxy option {name} must be ")
    assert ": " in said


def test_a_plain_loop_is_refused(keys: Any) -> None:
    async def start() -> None:
        async def local(*_: Any) -> Any: ...

        await ProxyEngine(ProxySettings(keys / "proxy"), FakeBoundary(), lambda _: None, local).start()

    with pytest.raises(EngineError, match="GuardedLoop"):
        asyncio.run(start())


def test_a_port_in_use_does_not_start(proxy: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy, pytest.raises(OSError, match="in use"):
        proxy(listen=busy.getsockname())


def test_a_listening_socket_may_be_passed_in(proxy: Make) -> None:
    gate = proxy()

    async def start() -> tuple[str, int]:
        sock = socket.create_server(("127.0.0.1", 0))
        settings = replace(gate.settings, listen=("127.0.0.1", 1))
        engine = ProxyEngine(settings, gate.boundary, lambda _: None, gate.engine.gate, resolve=gate.names)  # type: ignore[arg-type]
        await engine.start(sock)
        address = engine.address
        await engine.drain(0)
        return address

    assert gate.call(start)[1] > 1


def test_ready_when_the_canary_is_refused(proxy: Make) -> None:
    gate = proxy()
    assert gate.call(gate.engine.ready)
    assert gate.boundary.submitted[-1].host == "canary.effectgate.invalid"
    assert gate.names.asked == []


@pytest.mark.parametrize("broken", ["open", "fails", "hangs", "gone"])
def test_not_ready_when_it_is_not(proxy: Make, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = proxy(decide_seconds=0.2)

    def fail(facts: object) -> None:
        raise RuntimeError("broken")

    if broken == "open":
        gate.boundary.allow = lambda facts: True
    elif broken == "fails":
        gate.boundary.before = fail
    elif broken == "hangs":
        gate.boundary.delay = 5.0
    else:
        gate.engine._server.close()  # type: ignore[union-attr]
        gate.engine._server = socket  # type: ignore[assignment]
        monkeypatch.setattr(ProxyEngine, "address", ("127.0.0.1", 1))
    assert not gate.call(gate.engine.ready)
    if broken == "gone":
        gate.engine._server = None


def test_draining_lets_what_is_in_flight_end(proxy: Make, origin: MakeOrigin) -> None:
    def slow(exchange: Exchange) -> None:
        exchange.head()
        time.sleep(0.4)
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        exchange.read()

    gate = proxy({("allowed.test", 443): origin(slow)})
    with gate.tunnel("allowed.test:443") as wire:
        address = gate.address
        wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        assert eventually(lambda: bool(gate.boundary.submitted))
        gate.call(lambda: gate.engine.drain(3))
        assert wire.reply().body == b"ok"
        assert wire.closed()
    with pytest.raises(OSError):
        socket.create_connection(address, 1)
    assert gate.boundary.completed[0][1].success


def test_a_strange_client_address_is_blocked_by_mitmproxys_own_addon(proxy: Make) -> None:
    assert proxy().engine.master.addons.get("block") is not None
