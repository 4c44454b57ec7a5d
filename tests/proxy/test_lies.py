"""Origins that lie: the agent gets 502 and its receipt the reason, or an honest part; the next request gets its own answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from effectgate.proxy.settings import ProxySettings

from .client import Wire
from .frames import FrameWire, headers
from .harness import Proxy, eventually, origin_context
from .lies import GOOD, HONEST, LIES, Lie
from .origins import Exchange, Origin

HOST = "allowed.test"


@dataclass(frozen=True, slots=True)
class Stage:
    """A proxy, and an origin that tells the lie that the path names and is honest ever after."""

    gate: Proxy
    origin: Origin


def tell(exchange: Exchange) -> None:
    while head := exchange.head():
        name = head.split(b" ")[1].decode().removeprefix("/").replace("%20", " ")
        lie = ALL.get(name)
        exchange.send(GOOD if lie is None else lie.sends)
        if lie is not None and lie.closes:
            return


ALL = {**LIES, **HONEST}


@pytest.fixture(scope="module")
def stage(keys: Path) -> Iterator[Stage]:
    origin = Origin(tell, origin_context(keys / "origins", HOST))
    settings = ProxySettings(
        certs=keys / "proxy", listen=("127.0.0.1", 0), upstream_ca=keys / "origins" / "ca.pem",
        resolve={(HOST, 443): ("127.0.0.1", origin.port)},
    )  # fmt: skip
    gate = Proxy(settings).start()
    yield Stage(gate, origin)
    gate.stop()
    origin.close()


Ask = Callable[[Wire, str], tuple[int, bytes]]


def over_http1(wire: Wire, path: str) -> tuple[int, bytes]:
    """Status and body; status 0 where the response breaks off."""
    try:
        wire.send(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n")
        answer = wire.reply()
    except TimeoutError:
        raise
    except (EOFError, OSError):
        return 0, b""
    return answer.status, answer.body


def over_http2(wire: Wire, path: str) -> tuple[int, bytes]:
    """The same, as the first request of an HTTP/2 connection."""
    client = FrameWire(wire)
    client.send(headers(1, [(":method", "GET"), (":scheme", "https"), (":authority", HOST), (":path", path)]))
    heard = client.until(1)
    return (0, b"") if heard.resets.get(1) else (heard.status(1), heard.bodies.get(1, b""))


def told(stage: Stage, lie: Lie, status: int, body: bytes) -> None:
    assert status == lie.status
    if status == 502:
        assert b'"failure": "%s"' % lie.error.encode() in body
    elif status:
        assert body == lie.body
    assert eventually(lambda: len(stage.gate.boundary.completed) == len(stage.gate.boundary.submitted))
    (_, outcome), *_ = stage.gate.boundary.completed
    assert (outcome.error, outcome.success) == (lie.error, lie.error == "")


def begin(stage: Stage) -> None:
    """Wait for the completions of the test before, and forget them."""
    assert eventually(lambda: len(stage.gate.boundary.completed) == len(stage.gate.boundary.submitted))
    stage.gate.boundary.submitted.clear()
    stage.gate.boundary.completed.clear()


@pytest.mark.parametrize("name", ALL)
def test_over_http1(stage: Stage, name: str) -> None:
    begin(stage)
    with stage.gate.tunnel(f"{HOST}:443") as wire:
        status, body = over_http1(wire, "/" + name.replace(" ", "%20"))
        told(stage, ALL[name], status, body)
        if ALL[name].error == "" and not ALL[name].closes:
            assert over_http1(wire, "/next") == (200, b"ok")
    with stage.gate.tunnel(f"{HOST}:443") as wire:
        assert over_http1(wire, "/next") == (200, b"ok")


@pytest.mark.parametrize("name", ALL)
def test_over_http2(stage: Stage, name: str) -> None:
    begin(stage)
    with stage.gate.tunnel(f"{HOST}:443", ("h2",)) as wire:
        status, body = over_http2(wire, "/" + name.replace(" ", "%20"))
    told(stage, ALL[name], status, body)
    assert stage.gate.get(HOST, "/next").status == 200
