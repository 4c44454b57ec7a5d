"""A hook that raises, hangs or disappears never lets a request go on. Each row is run over every hook in turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from .client import AUTH, Reply
from .harness import Proxy, eventually
from .origins import Origin
from .ws import handshake, websocket_origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]

# Hook -> whether it comes before the decision: then nothing may reach an origin.
HTTPS = {
    "client_connected": True, "http_connect": True, "http_connected": True, "next_layer": True, "tls_clienthello": True,
    "tls_start_client": True, "requestheaders": True, "request": True, "server_connect": True, "server_connected": False,
    "tls_start_server": False, "responseheaders": False,
}  # fmt: skip
PLAIN = (
    "client_connected",
    "next_layer",
    "requestheaders",
    "request",
    "server_connect",
    "server_connected",
    "responseheaders",
)
# Where a refusal can still be given, it is: a connection that closes tells an agent nothing.
ANSWERED = ("http_connect", "requestheaders", "request", "server_connect", "responseheaders")
FAULTS: dict[str, Callable[[], BaseException]] = {
    "exception": lambda: RuntimeError("broken"),
    "memory": MemoryError,
    "cancelled": asyncio.CancelledError,
    "generator exit": GeneratorExit,
}


def sabotage(gate: Proxy, hook: str, action: Callable[[], Any], *, last: bool = True) -> Callable[[], None]:
    """Put an addon with one hook into the chain, at its end or its beginning; returns how to take it out."""

    class Saboteur:
        name = f"saboteur-{time.monotonic_ns()}"

    saboteur = Saboteur()
    setattr(saboteur, hook, lambda data: action())
    chain = gate.engine.master.addons.chain
    chain.insert(len(chain) if last and hook != "next_layer" else 0, saboteur)  # ours ends the round of next_layer
    return lambda: chain.remove(saboteur)


def attempt(gate: Proxy, scheme: str, body: str = "") -> Reply | None:
    """One request; None if the connection closed instead of an answer."""
    try:
        more = f"Content-Length: {len(body)}\r\n" if body else ""
        method = "POST" if body else "GET"
        if scheme == "http":
            with gate.wire() as wire:
                wire.send(f"{method} http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n{AUTH}{more}\r\n{body}")
                return wire.reply()
        with gate.wire() as wire:
            answer = wire.connect("allowed.test:443")
            if answer.status != 200:
                return answer
            wire.tls(gate.ca, "allowed.test")
            wire.send(f"{method} / HTTP/1.1\r\nHost: allowed.test\r\n{more}\r\n{body}")
            return wire.reply()
    except (EOFError, OSError):
        return None


@pytest.fixture
def reachable(proxy: Make, origin: MakeOrigin) -> tuple[Proxy, Origin, Origin]:
    """A proxy that allows, and its two origins."""
    tls, plain = origin(), origin(tls=False)
    return proxy({("allowed.test", 443): tls, ("allowed.test", 80): plain}, decide_seconds=0.3), tls, plain


ROWS = [("https", hook) for hook in HTTPS] + [("http", hook) for hook in PLAIN]


@pytest.mark.parametrize(("fault", "last"), [*((fault, True) for fault in FAULTS), ("exception", False)])
@pytest.mark.parametrize(("scheme", "hook"), ROWS)
def test_an_exception_in_a_hook(
    reachable: tuple[Proxy, Origin, Origin], scheme: str, hook: str, fault: str, last: bool
) -> None:
    gate, tls, plain = reachable

    def fail() -> None:
        raise FAULTS[fault]()

    undo = sabotage(gate, hook, fail, last=last)
    answer = attempt(gate, scheme)
    assert answer is not None or hook not in ANSWERED
    assert answer is None or (answer.status, answer.json()["reason_code"]) == (503, "PDP_ERROR")
    if HTTPS[hook]:
        assert (tls.received, plain.received) == (b"", b"")
    undo()
    good = attempt(gate, scheme)
    assert good is not None
    assert good.status == 200


@pytest.mark.parametrize(("scheme", "hook"), ROWS)
def test_a_body_does_not_pass_a_broken_hook(reachable: tuple[Proxy, Origin, Origin], scheme: str, hook: str) -> None:
    """`request` comes when a body has streamed: then the connection closes, and the origin never sees the end."""
    gate, tls, plain = reachable

    def fail() -> None:
        raise RuntimeError("broken")

    sabotage(gate, hook, fail)
    answer = attempt(gate, scheme, "secret")
    assert answer is None or answer.status in (503, 502)
    if HTTPS[hook] and hook != "request":
        assert (tls.received, plain.received) == (b"", b"")


@pytest.mark.parametrize("hook", ["http_connect", "requestheaders", "next_layer", "server_connect"])
def test_a_hook_that_hangs_is_cut(reachable: tuple[Proxy, Origin, Origin], hook: str) -> None:
    gate, tls, _ = reachable
    undo = sabotage(gate, hook, lambda: asyncio.sleep(60))
    begun = time.monotonic()
    answer = attempt(gate, "https")
    assert time.monotonic() - begun < 3
    assert answer is None or answer.status in (502, 503)
    assert tls.received == b""
    undo()
    assert attempt(gate, "https") is not None


def test_a_hanging_boundary_is_503_and_holds_up_nobody_else(reachable: tuple[Proxy, Origin, Origin]) -> None:
    gate, tls, _ = reachable
    gate.boundary.delay = 60
    with gate.tunnel("allowed.test:443") as wire:
        wire.send("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
        time.sleep(0.05)
        gate.boundary.delay = 0
        assert gate.get("denied.test").status == 403
        answer = wire.reply()
        assert (answer.status, answer.json()["reason_code"]) == (503, "PDP_ERROR")
    assert tls.received == b""


@pytest.mark.parametrize("inspect", [0, 100])
def test_a_boundary_that_raises(reachable: tuple[Proxy, Origin, Origin], inspect: int) -> None:
    gate, tls, _ = reachable

    def fail(facts: object) -> None:
        raise RuntimeError("broken")

    gate.boundary.before = fail
    gate.boundary.inspect = lambda facts: inspect
    answer = attempt(gate, "https", "secret")
    assert answer is not None
    assert answer.status == 503
    assert tls.received == b""


def test_no_gate_means_no_upstream(reachable: tuple[Proxy, Origin, Origin]) -> None:
    """With every deciding addon gone, the stream still has no leave."""
    gate, tls, plain = reachable
    chain = gate.engine.master.addons.chain
    verdicts = [addon for addon in chain if getattr(addon, "name", "") == "effectgate-verdicts"]
    for addon in verdicts:
        chain.remove(addon)
    for scheme in ("http", "https"):
        answer = attempt(gate, scheme, "secret")
        assert answer is None or answer.status == 503
    assert (tls.accepts, plain.accepts) == (0, 0)


def test_a_request_that_was_changed_after_the_decision_has_no_leave(reachable: tuple[Proxy, Origin, Origin]) -> None:
    gate, tls, _ = reachable

    class Meddler:
        name = "meddler"

        def request(self, flow: Any) -> None:
            flow.request.path = "/another"

    gate.engine.master.addons.chain.append(Meddler())
    answer = attempt(gate, "https")
    assert answer is not None
    assert (answer.status, tls.received) == (503, b"")


def test_a_layer_that_crashes_closes_its_connection(
    reachable: tuple[Proxy, Origin, Origin], monkeypatch: pytest.MonkeyPatch
) -> None:
    """mitmproxy logs "mitmproxy has crashed!" and lets the client wait."""
    gate, tls, _ = reachable

    def crash(*_: object) -> None:
        raise RuntimeError("crash")

    monkeypatch.setattr("effectgate.proxy.stream.frame_request", crash)
    begun = time.monotonic()
    assert attempt(gate, "https", "x") is None
    assert time.monotonic() - begun < 3
    assert tls.requests == []


@pytest.mark.parametrize("hook", ["websocket_start", "websocket_message"])
def test_a_websocket_hook_that_raises_ends_the_conversation(proxy: Make, origin: MakeOrigin, hook: str) -> None:
    there = origin(websocket_origin)
    gate = proxy({("allowed.test", 443): there})

    def fail() -> None:
        raise RuntimeError("broken")

    sabotage(gate, hook, fail)
    with gate.tunnel("allowed.test:443") as wire:
        try:
            handshake(wire, "allowed.test")
            wire.send(b"\x81\x86\x00\x00\x00\x00secret")
        except (EOFError, OSError):
            pass
        assert wire.closed()
    assert b"secret" not in there.received


@pytest.mark.parametrize(
    ("scheme", "hook", "last", "noted"),
    [
        ("https", "requestheaders", False, True),
        ("http", "requestheaders", False, True),
        ("https", "http_connect", True, True),
        ("https", "requestheaders", True, False),  # allowed already: the completion tells
    ],
)
def test_what_a_failed_hook_refused_has_a_receipt(
    reachable: tuple[Proxy, Origin, Origin], scheme: str, hook: str, last: bool, noted: bool
) -> None:
    gate = reachable[0]

    def fail() -> None:
        raise RuntimeError("broken")

    sabotage(gate, hook, fail, last=last)
    answer = attempt(gate, scheme)
    assert answer is not None
    assert answer.status == 503
    refused = [("PDP_ERROR", "agent")] if noted else []
    assert eventually(lambda: [(code, principal) for principal, _, code, _ in gate.boundary.refused] == refused)
