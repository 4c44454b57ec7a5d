"""One set of keys for all tests of the room, and proxies that are stopped whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from effectgate.proxy import certs
from effectgate.proxy.settings import ProxySettings

from .harness import Proxy, origin_context
from .origins import Origin, Script, answer_ok


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the proxy's CA in `proxy` and the origins' CA in `origins`."""
    root = tmp_path_factory.mktemp("keys")
    for name in ("proxy", "origins", "strangers"):
        certs.load_or_create(root / name)
    return root


@pytest.fixture
def origin(keys: Path) -> Iterator[Callable[..., Origin]]:
    """Makes TLS origins for a name (`tls=False`: plain ones), and closes them."""
    made: list[Origin] = []

    def make(
        script: Script = answer_ok, *, name: str = "allowed.test", tls: bool = True, ca: str = "origins",
        alpn: tuple[str, ...] = ("http/1.1",),
    ) -> Origin:  # fmt: skip
        made.append(Origin(script, origin_context(keys / ca, name, alpn) if tls else None))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def proxy(keys: Path) -> Iterator[Callable[..., Proxy]]:
    """Starts a proxy; `hosts` are static answers from (host, port) to an origin."""
    made: list[Proxy] = []

    def make(hosts: dict[tuple[str, int], Origin] | None = None, **changes: Any) -> Proxy:
        settings = ProxySettings(
            certs=keys / "proxy",
            listen=("127.0.0.1", 0),
            resolve={name: ("127.0.0.1", to.port) for name, to in (hosts or {}).items()},
            upstream_ca=keys / "origins" / "ca.pem",
            failed_login_seconds=0.05,
        )
        made.append(Proxy(replace(settings, **changes)).start())
        return made[-1]

    yield make
    for one in made:
        one.stop()
