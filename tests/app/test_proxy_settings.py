"""What the proxy is told of the settings."""

from __future__ import annotations

import dataclasses
from ipaddress import ip_network
from pathlib import Path

from effectgate.app.proxy_settings import proxy_settings
from effectgate.config import Limits as WrittenLimits
from effectgate.config import parse_settings
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


def test_every_limit_reaches_the_proxy_and_has_one_default() -> None:
    unwritten = proxy_settings(parse_settings("", Path("/etc/effectgate/effectgate.yaml"))).limits
    assert unwritten == Limits()
    names = [field.name for field in dataclasses.fields(Limits)]
    assert names == list(WrittenLimits.model_fields)
    text = "limits: {" + ", ".join(f"{name}: {number}" for number, name in enumerate(names, 1)) + "}"
    told = proxy_settings(parse_settings(text, Path("/etc/effectgate/effectgate.yaml"))).limits
    assert dataclasses.astuple(told) == tuple(range(1, len(names) + 1))
