"""The event loop's guard on addresses: resolve once, vet every answer, dial only what was vetted.

Pinning in the loop keeps the host name for SNI, verification and connection reuse; mitmproxy's own way (rewriting
`server.address`) loses all three. uvloop resolves and connects in C and would pass the guard by: never use it here.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from effectgate.proxy.address import AddressPolicy, is_own, vet, vet_all
from effectgate.proxy.failure import DialError
from effectgate.proxy.settings import Endpoint, ProxySettings

AddressInfo = tuple[Any, Any, int, str, Any]
# A host in normal form to every address it has; raises ResolveError.
Resolve = Callable[[str], Awaitable[Sequence[str]]]

# Answers beyond these are not tried: each costs a connect timeout.
ANSWERS = 4

_LOCALHOST = {"localhost": ("127.0.0.1", "::1")}

_own_traffic: ContextVar[bool] = ContextVar("own_traffic", default=False)


class ResolveError(OSError):
    """A name without addresses; the text says why, without a comma, for agents and people."""


@contextmanager
def own_traffic() -> Iterator[None]:
    """Connections opened inside are Effectgate's own (its store, its canary) and are not vetted."""
    token = _own_traffic.set(True)
    try:
        yield
    finally:
        _own_traffic.reset(token)


class VettedAddress(tuple[Any, ...]):
    """A socket address that passed the guard, with the seconds that connecting to it may take."""

    seconds: float = 0.0


async def _nowhere(host: str) -> Sequence[str]:
    raise ResolveError("nothing is resolved before the gate is up")


@dataclass(frozen=True, slots=True)
class AddressGuard:
    """What the loop needs to vet: policy, static answers, and a resolver that tests may replace."""

    policy: AddressPolicy
    static: dict[Endpoint, Endpoint] = field(default_factory=dict)
    private: frozenset[Endpoint] = frozenset()
    resolve: Resolve = _nowhere
    resolve_seconds: float = 5.0
    connect_seconds: float = 10.0

    @classmethod
    def of(cls, settings: ProxySettings, own: frozenset[Endpoint], resolve: Resolve) -> AddressGuard:
        """The guard for these settings; `own` are our listeners' (address, port) pairs."""
        ours = {(address, port) for host, port in own | settings.own for address in _LOCALHOST.get(host, (host,))}
        return cls(
            policy=AddressPolicy(settings.allow_private, frozenset(ours), is_local),
            static=dict(settings.resolve),
            private=settings.private,
            resolve=resolve,
            resolve_seconds=settings.resolve_seconds,
            connect_seconds=settings.connect_seconds,
        )


# What a loop does before a guard is set: nothing is resolved and nothing is dialled.
_SHUT = AddressGuard(AddressPolicy())


class GuardedLoop(asyncio.SelectorEventLoop):
    """A selector loop whose every outgoing connection passes `guard`. Pass it to `asyncio.Runner(loop_factory=...)`."""

    guard: AddressGuard = _SHUT

    async def getaddrinfo(
        self, host: Any, port: Any, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> list[AddressInfo]:
        """Resolve once and vet every answer; raises DialError where one is refused (`address`) or none came (`resolve`)."""
        if _own_traffic.get():
            return [*await super().getaddrinfo(host, port, family=family, type=type, proto=proto, flags=flags)]
        endpoint = (str(host), int(port))
        if (static := self.guard.static.get(endpoint)) is not None:
            infos = [_info(static)]
            refuse_own(static, self.guard.policy)
        else:
            infos = [_info((text, endpoint[1])) for text in await self._lookup(endpoint[0])]
            if why := vet_all(
                (info[4][0] for info in infos), endpoint[1], self.guard.policy, private=self._private(endpoint)
            ):
                raise DialError("address", f"{endpoint[0]} resolves to {why}")
        return [self._vetted(info, len(infos)) for info in infos[:ANSWERS]]

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """Dial a vetted address, or vet a literal first; raises DialError (`address`, `timeout`) or OSError."""
        if not _own_traffic.get() and sock.family in (socket.AF_INET, socket.AF_INET6):
            address = address if isinstance(address, VettedAddress) else self._vet_literal(address)
            try:
                async with asyncio.timeout(address.seconds):
                    return await super().sock_connect(sock, tuple(address))
            except TimeoutError:
                raise DialError("timeout", "connecting took too long") from None
        return await super().sock_connect(sock, address)

    async def _lookup(self, host: str) -> Sequence[str]:
        try:
            async with asyncio.timeout(self.guard.resolve_seconds):
                return await self.guard.resolve(host)
        except TimeoutError:
            raise DialError("resolve", f"looking up {host} took too long") from None
        except OSError as error:
            raise DialError("resolve", f"{host}: {error}") from None

    def _private(self, endpoint: Endpoint) -> bool:
        return endpoint in self.guard.private

    def _vetted(self, info: AddressInfo, count: int) -> AddressInfo:
        address = VettedAddress(info[4])
        address.seconds = max(self.guard.connect_seconds / min(count, ANSWERS), min(3.0, self.guard.connect_seconds))
        return (*info[:4], address)

    def _vet_literal(self, address: Any) -> VettedAddress:
        endpoint = (str(address[0]), int(address[1]))
        if (static := self.guard.static.get(endpoint)) is not None:
            refuse_own(static, self.guard.policy)
            endpoint = static
        elif why := vet(*endpoint, self.guard.policy, private=self._private(endpoint)):
            raise DialError("address", f"{endpoint[0]} is {why}")
        vetted = VettedAddress(endpoint)
        vetted.seconds = self.guard.connect_seconds
        return vetted


def is_local(text: str) -> bool:
    """Whether this is an address of this machine: only those can be bound (the unspecified ones too, which lead to loopback)."""
    with socket.socket(socket.AF_INET6 if ":" in text else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((text, 0))
        except OSError:
            return False
    return True


def refuse_own(endpoint: Endpoint, policy: AddressPolicy) -> None:
    """Raise DialError if a static answer points back at one of our own listeners."""
    if is_own(ip_address(endpoint[0]), endpoint[1], policy):
        raise DialError("address", "the static answer is an address of Effectgate itself")


def _info(endpoint: Endpoint) -> AddressInfo:
    family = socket.AF_INET6 if ":" in endpoint[0] else socket.AF_INET
    return (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", endpoint)
