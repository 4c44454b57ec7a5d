"""An origin whose certificate is bad in any way gets no request; the agent gets 502, the completion receipt says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from effectgate.proxy.settings import ProxySettings

from .bad_certificates import BAD, HOST, Authority, Leaf
from .harness import Proxy, eventually
from .origins import Origin

Serve = Callable[[Leaf], Origin]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[tuple[Proxy, Origin]]:
    """One gate and one origin, whose certificate is changed from test to test. mitmproxy keeps trust anchors by their path."""
    origin = Origin(context=authority.context(Leaf()))
    settings = ProxySettings(
        certs=tmp_path_factory.mktemp("proxy"), listen=("127.0.0.1", 0), upstream_ca=authority.pem,
        resolve={(HOST, 443): ("127.0.0.1", origin.port)},
    )  # fmt: skip
    gate = Proxy(settings).start()
    yield gate, origin
    gate.stop()
    origin.close()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_certificate(served: tuple[Proxy, Origin], authority: Authority, name: str) -> None:
    gate, origin = served
    origin.context, origin.received = authority.context(BAD[name]), b""
    gate.boundary.completed.clear()
    answer = gate.get(HOST, method="POST", more="Content-Length: 0\r\n")
    assert (answer.status, answer.json()["failure"]) == (502, "certificate")
    assert f"({BAD[name].says}" in answer.json()["reason"]
    assert origin.received == b""
    assert eventually(lambda: len(gate.boundary.completed) == 1)
    outcome = gate.boundary.completed[0][1]
    assert (outcome.success, outcome.error, outcome.bytes_sent) == (False, "certificate", 0)


@pytest.mark.parametrize(
    "leaf", [Leaf(), Leaf(common="other"), Leaf(names=(*BAD["for another name"].names, *Leaf().names))]
)
def test_a_good_certificate(served: tuple[Proxy, Origin], authority: Authority, leaf: Leaf) -> None:
    gate, origin = served
    origin.context = authority.context(leaf)
    assert gate.get(HOST).status == 200
