"""What the proxy is told of the settings."""

from __future__ import annotations

import dataclasses
from ipaddress import ip_network
from pathlib import Path

import pytest

from effectgate.app.proxy_settings import proxy_settings
from effectgate.config import Limits as WrittenLimits
from effectgate.config import parse_settings
from effectgate.policy.fault import FaultsError
from effectgate.proxy.settings import Limits

TEXT = """
listen: "[::1]:8081"
sites: {kubernetes: ["k8s.example.internal:6443", "spare.example.internal"]}
network:
  ports: [443]
  allow_private: ["10.1.0.0/16"]
  resolve: {"api.github.com:443": "127.0.0.1:9443"}
"""


def test_every_setting_of_the_network_reaches_the_proxy() -> None:
    told = proxy_settings(parse_settings(TEXT, Path("/etc/effectgate/effectgate.yaml")))
    assert told.listen == ("::1", 8081)
    assert told.certs == Path("/etc/effectgate/certs")
    assert told.ports == {443}
    assert told.resolve == {("api.github.com", 443): ("127.0.0.1", 9443)}
    assert told.allow_private == (ip_network("10.1.0.0/16"),)
    assert told.private == {("k8s.example.internal", 6443), ("spare.example.internal", 443)}
    assert told.own == {("127.0.0.1", 4001), ("127.0.0.1", 4002), ("127.0.0.1", 9464)}
    assert told.upstream_ca is None


def test_endpoints_are_found_however_they_are_written() -> None:
    """Requests name hosts in normal form; a static answer under another spelling would silently stand for nothing."""
    text = 'sites: {k: ["K8s.Example.:6443", "[FD00::0001]:443"]}\nnetwork: {resolve: {"API.Test.:443": "[::0001]:9443"}}\n'
    told = proxy_settings(parse_settings(text, Path("/etc/effectgate/effectgate.yaml")))
    assert told.resolve == {("api.test", 443): ("::1", 9443)}
    assert told.private == {("k8s.example", 6443), ("fd00::1", 443)}


@pytest.mark.parametrize(
    ("key", "answer", "message"),
    [
        ("b\u00fccher.test:443", "127.0.0.1:1", "not ASCII"),
        ("a.test:0", "127.0.0.1:1", "no endpoint"),
        ("127.1:80", "127.0.0.1:1", "no canonical IPv4"),
        ("a.test:443", "localhost:1", "IP address"),
        ("a.test:443", "[fe80::1%lo]:1", "IP address"),
        ("a.test:443", "127.0.0.1:0", "no port that can be"),
    ],
)
def test_a_static_answer_that_could_never_be_given_is_a_fault(key: str, answer: str, message: str) -> None:
    with pytest.raises(FaultsError, match=message):
        parse_settings(f'network: {{resolve: {{"{key}": "{answer}"}}}}\n', Path("/etc/effectgate/effectgate.yaml"))


def test_every_limit_reaches_the_proxy_and_has_one_default() -> None:
    unwritten = proxy_settings(parse_settings("", Path("/etc/effectgate/effectgate.yaml"))).limits
    assert unwritten == Limits()
    names = [field.name for field in dataclasses.fields(Limits)]
    assert names == list(WrittenLimits.model_fields)
    text = "limits: {" + ", ".join(f"{name}: {number}" for number, name in enumerate(names, 1)) + "}"
    told = proxy_settings(parse_settings(text, Path("/etc/effectgate/effectgate.yaml"))).limits
    assert dataclasses.astuple(told) == tuple(range(1, len(names) + 1))
