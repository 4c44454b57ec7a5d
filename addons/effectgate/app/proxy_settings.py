"""What the proxy is told of the settings."""

from __future__ import annotations

from ipaddress import ip_network

from effectgate.config import Settings
from effectgate.proxy.settings import Endpoint, Limits, ProxySettings
from effectgate.setting_values import parse_address


def proxy_settings(settings: Settings) -> ProxySettings:
    """The fixed part of the settings, as the proxy takes it."""
    written = settings.written
    rules = written.network
    return ProxySettings(
        certs=settings.certs,
        listen=_endpoint(written.listen),
        ports=frozenset(rules.ports),
        resolve={_endpoint(name): _endpoint(address) for name, address in rules.resolve.items()},
        allow_private=tuple(map(ip_network, rules.allow_private)),
        private=frozenset(_endpoint(text) for rows in written.sites.values() for text in rows),
        own=frozenset(map(_endpoint, (written.api.http, written.api.grpc, written.metrics))),
        limits=Limits(**written.limits.model_dump()),
        upstream_ca=settings.path(rules.upstream_ca) if rules.upstream_ca is not None else None,
    )


def _endpoint(text: str) -> Endpoint:
    address = parse_address(text)
    return address.host, address.port
