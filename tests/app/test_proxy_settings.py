"""What the proxy is told of the settings."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

from effectgate.app.proxy_settings import proxy_settings
from effectgate.config import parse_settings

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
