"""What the proxy is told at start. Values only; `app` makes them from `effectgate.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

Network = IPv4Network | IPv6Network
Endpoint = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much clients may take of the proxy, and how long they may take about it. Times in seconds, sizes in bytes.

    What is per agent is per principal: a verified credential, over however many connections.
    """

    connections: int = 2000  # in all
    connections_per_agent: int = 256
    strangers: int = 256  # connections that have shown no valid credential yet
    requests_per_agent: int = 256  # in flight
    held_bytes: int = 128 * 1024 * 1024  # of request bodies that wait for their decision, in all
    held_bytes_per_agent: int = 32 * 1024 * 1024
    head_seconds: float = 10.0  # from connecting to a valid credential, and from the first byte of a head to its last
    body_seconds: float = 60.0  # each brings `body_bytes` of a request body that nobody has answered yet
    body_bytes: int = 1024
    read_seconds: float = 60.0  # how long a client may leave what waits for it unread
    idle_seconds: float = 300.0  # without a request in flight
    quiet_seconds: float = 600.0  # with one, while nothing moves either way


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
    limits: Limits = Limits()
    decide_seconds: float = 10.0
    resolve_seconds: float = 5.0
    connect_seconds: float = 10.0
    handshake_seconds: float = 10.0
    silent_seconds: float = 540.0  # of an origin; after 600 mitmproxy would end the connection without a word
    first_bytes_seconds: float = 1.5  # design.md section 3 grants a tunnel that says neither TLS nor HTTP two
    failed_login_seconds: float = 0.5
    recheck_seconds: float = 0.5
