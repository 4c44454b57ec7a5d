"""What the master around the gate holds, and what it must never take from outside: mitmproxy's own defaults are the hazards."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.hooks import Hook
from mitmproxy.master import Master
from mitmproxy.options import Options
from mitmproxy.proxy.server_hooks import ClientConnectedHook

from effectgate.proxy import options
from effectgate.proxy.attach import Watch
from effectgate.proxy.dispatch import Dispatch
from effectgate.proxy.engine import EngineError
from effectgate.proxy.session import Sessions

from .client import AUTH
from .harness import Proxy
from .origins import Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]
SOURCES = Path(__file__).parents[2] / "addons" / "effectgate"

# Those that have a name; the two without are Block and ErrorCheck (mitmproxy names them by their class).
ADDONS = {
    "errorcheck", "core", "proxyserver", "block", "tlsconfig", "effectgate-doorway", "effectgate-tunnel",
    "effectgate-verdicts", "effectgate-upstream", "effectgate-completion",
}  # fmt: skip


def test_the_master_has_these_addons_and_no_other(proxy: Make) -> None:
    """No script loader, so nothing is unloaded by an edit; no onboarding page, replay, upstream mode, or save of flows."""
    assert set(proxy().engine.master.addons.lookup) == ADDONS


def test_an_addon_that_fails_to_load_fails_the_start(proxy: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """mitmproxy logs it and goes on without that addon."""

    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Proxyserver, "configure", fail)
    with pytest.raises(EngineError, match="broken"):
        proxy()


def test_a_configuration_file_of_mitmproxy_is_not_read(
    proxy: Make, origin: MakeOrigin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".mitmproxy").mkdir()
    for name in ("config.yaml", "config.yml"):
        (tmp_path / ".mitmproxy" / name).write_text("ignore_hosts: ['.*']\nssl_insecure: true\nrawtcp: true\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    there = origin()
    gate = proxy({("denied.test", 443): there})
    assert options.unsafe(gate.engine.master.options) == ""
    assert gate.get("denied.test").status == 403
    assert there.accepts == 0


def test_an_option_that_turns_unsafe_closes_the_gate_until_it_is_put_back() -> None:
    class Held:
        sessions = Sessions(lambda _: None, lambda _: True)

    async def scene() -> None:
        master = Master(Options(), asyncio.get_running_loop())
        master._legacy_log_events.uninstall()
        watch = Watch(master, Held(), 60.0)  # type: ignore[arg-type]
        master.addons.add(Proxyserver(), TlsConfig(), watch)
        options.secure(master.options)
        assert Held.sessions.closed == ""
        master.options.update(ignore_hosts=[".*"])
        assert "ignore_hosts" in Held.sessions.closed
        master.options.update(ignore_hosts=[])
        assert Held.sessions.closed == ""

    asyncio.run(scene())


@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt])
def test_a_hook_that_ends_the_program_has_refused_before_it_does(ending: type[BaseException]) -> None:
    refused: list[str] = []

    class Ender:
        def client_connected(self, client: object) -> None:
            raise ending

    class Addons:
        chain = (Ender(),)

    def refuse(hook: str, data: Any, reason: str, /) -> bool:
        refused.append(hook)
        return True

    async def scene(hook: Hook) -> None:
        await Dispatch(Addons(), refuse, 1.0).handle_lifecycle(hook)  # type: ignore[arg-type]

    with pytest.raises(ending):
        asyncio.run(scene(ClientConnectedHook(None)))  # type: ignore[arg-type]
    assert refused == ["client_connected"]


def test_https_asked_in_plain_text_is_decided_as_https(proxy: Make, origin: MakeOrigin) -> None:
    tls, plain = origin(), origin(tls=False)
    gate = proxy({("allowed.test", 443): tls, ("allowed.test", 80): plain})
    with gate.wire() as wire:
        wire.send(f"GET https://allowed.test/x HTTP/1.1\r\nHost: allowed.test\r\n{AUTH}\r\n")
        assert wire.reply().status == 200
    facts = gate.boundary.submitted[0]
    assert (facts.scheme, facts.port, facts.path) == ("https", 443, "/x")
    assert (len(tls.requests), plain.accepts) == (1, 0)


@pytest.mark.parametrize("framing", ["Content-Length: 4", "Transfer-Encoding: chunked", "Content-Length: 0\r\nX: y"])
def test_a_connect_with_a_body_is_no_connect(proxy: Make, framing: str) -> None:
    """RFC 9110 section 9.3.6: it has no content. mitmproxy would take the body for the first bytes of the tunnel."""
    gate = proxy()
    with gate.wire() as wire:
        answer = wire.connect("allowed.test:443", auth=f"{AUTH}{framing}\r\n")
        assert answer.status == (200 if ": 0" in framing else 400)


def test_what_a_client_asserts_is_read_nowhere() -> None:
    """`pretty_host` and its kin are the Host header; `kill` does not stop a relay (mitmproxy pull request 8200)."""
    wrong = re.compile(r"\.pretty_(host|url)|\.host_header\b|\.kill\(|TCPLayer|UDPLayer|DNSLayer")
    found = [file.name for file in (SOURCES / "proxy").rglob("*.py") if wrong.search(file.read_text())]
    assert found == []
