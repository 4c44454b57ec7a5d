"""Names to addresses as the host has them: its hosts file, then its nameservers; without a search list and without threads.

docs/adr/0036 tells why this is not `getaddrinfo`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from pathlib import Path

import dns.asyncresolver
import dns.exception
import dns.inet
import dns.name
import dns.resolver

from effectgate.proxy.hosts_file import HostsFile
from effectgate.proxy.loop import ResolveError, own_traffic
from effectgate.proxy.nameserver import BoundedNameserver

HOSTS = Path("/etc/hosts")
RESOLV_CONF = Path("/etc/resolv.conf")
DNS_PORT = 53

# How long one try of one nameserver may take, and how long the second address family is waited for once the first has answered.
TRY_SECONDS = 1.5
FAMILY_SECONDS = 1.0

# RFC 6761 section 6.3: always loopback, whatever a nameserver would say.
LOOPBACK = ("127.0.0.1", "::1")

# Special-use names that no nameserver may be asked for: RFC 7686, RFC 6761 section 6.4, RFC 9476.
NEVER_ASKED = frozenset({"onion", "invalid", "alt"})

_Ask = asyncio.Task[dns.resolver.Answer]


class HostResolver:
    """Answers with every address of a name, IPv4 and IPv6. Both files are read again when they change."""

    def __init__(
        self, seconds: float = 5.0, *, hosts: Path = HOSTS, configuration: Path = RESOLV_CONF, port: int = DNS_PORT
    ) -> None:
        self._seconds = seconds
        self._hosts = HostsFile(hosts)
        self._configuration = configuration
        self._port = port

    async def __call__(self, host: str) -> Sequence[str]:
        """The addresses of a host in normal form, in the order in which to dial. Raises ResolveError, whose text says why."""
        if listed := self._hosts.addresses(host):
            return listed
        top = host.rpartition(".")[2]
        if top == "localhost":
            return LOOPBACK
        if top in NEVER_ASKED:
            raise ResolveError(f".{top} has no addresses in DNS")
        return in_dialling_order(await self._ask(dns.name.from_text(f"{host}.")))

    async def _ask(self, name: dns.name.Name) -> list[str]:
        resolver = self._nameservers()
        with own_traffic():
            asks = [
                asyncio.ensure_future(resolver.resolve(name, kind, raise_on_no_answer=False, search=False))
                for kind in ("A", "AAAA")
            ]
        try:
            done, waiting = await asyncio.wait(asks, return_when=asyncio.FIRST_COMPLETED)
            if waiting:
                await asyncio.wait(waiting, timeout=FAMILY_SECONDS if any(map(_addresses, done)) else None)
            return _found(asks)
        finally:
            for ask in asks:
                ask.cancel()

    def _nameservers(self) -> dns.asyncresolver.Resolver:
        resolver = dns.asyncresolver.Resolver(configure=False)
        # Read for every lookup: it is a few lines, and changes when a laptop moves or a container joins a network.
        with contextlib.suppress(dns.exception.DNSException, ValueError):
            resolver.read_resolv_conf(self._configuration)
        addresses = [text for text in resolver.nameservers if isinstance(text, str) and dns.inet.is_address(text)]
        if not addresses:
            raise ResolveError(f"{self._configuration} names no nameserver")
        resolver.nameservers = [BoundedNameserver(address, self._port) for address in addresses]
        resolver.timeout = min(resolver.timeout, TRY_SECONDS)
        resolver.lifetime = self._seconds
        return resolver


def _found(asks: Iterable[_Ask]) -> list[str]:
    """The addresses of every answer that came; raises ResolveError with the reason of the first where there are none."""
    if found := [address for ask in asks for address in _addresses(ask)]:
        return found
    raise ResolveError(next((why for ask in asks if (why := _reason(ask))), "it has no address"))


def _addresses(ask: _Ask) -> list[str]:
    if not ask.done() or ask.cancelled() or ask.exception() is not None:
        return []
    return [record.address for record in ask.result().rrset or ()]


# What a person reads, by dnspython's class.
_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (dns.resolver.NXDOMAIN, "there is no such name"),
    (dns.resolver.LifetimeTimeout, "no nameserver answered in time"),
    (dns.resolver.NoNameservers, "no nameserver could answer"),
    (dns.exception.DNSException, "the nameserver's answer was malformed"),
    (OSError, "no nameserver could be reached"),
)


def _reason(ask: _Ask) -> str:
    fault = ask.exception() if ask.done() and not ask.cancelled() else None
    return next((text for kind, text in _REASONS if isinstance(fault, kind)), "")


def in_dialling_order(addresses: Iterable[str]) -> list[str]:
    """Families in turn (RFC 8305 section 4), IPv6 first where this machine has a route to it."""
    six: list[str] = []
    four: list[str] = []
    for address in addresses:
        (six if ":" in address else four).append(address)
    first, second = (six, four) if six and _has_route(six[0]) else (four, six)
    return [address for address in chain.from_iterable(zip_longest(first, second)) if address]


def _has_route(address: str) -> bool:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))  # UDP: looks for a route and sends nothing
        except OSError:
            return False
    return True
