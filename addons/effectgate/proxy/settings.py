"""What the proxy is told at start. Values only; `app` makes them from `effectgate.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

Network = IPv4Network | IPv6Network
Endpoint = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """Everything that stays fixed while the proxy runs. Times in seconds, sizes in bytes.

    `resolve` maps a named endpoint to the address that stands for it, as curl's `--connect-to`; `private` are the
    endpoints of `sites:`, which may be private themselves; `own` are our other listeners, which nobody may reach.
    """

    certs: Path
    listen: Endpoint = ("127.0.0.1", 8080)
    ports: frozenset[int] = frozenset({80, 443})
    resolve: Mapping[Endpoint, Endpoint] = field(default_factory=dict)
    allow_private: tuple[Network, ...] = ()
    private: frozenset[Endpoint] = frozenset()
    own: frozenset[Endpoint] = frozenset()
    upstream_ca: Path | None = None
    connections: int = 2000
    requests_in_flight: int = 256  # of one principal
    decide_seconds: float = 10.0
    resolve_seconds: float = 5.0
    connect_seconds: float = 10.0
    handshake_seconds: float = 10.0
    hello_seconds: float = 4.0  # for an agent's TLS handshake, which crosses no network
    first_bytes_seconds: float = 1.5  # design.md section 3 grants a tunnel that says neither TLS nor HTTP two
    failed_login_seconds: float = 0.5
    recheck_seconds: float = 0.5
