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

from effectgate.proxy import route
from effectgate.proxy.address import AddressPolicy, exemption, is_own, vet_all
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
    """A socket address that passed the guard, the seconds that connecting to it may take, and the setting that it needed to pass."""

    seconds: float = 0.0
    exempt: str = ""


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

    def exemption(self, endpoint: Endpoint, answer: Endpoint) -> str:
        """The setting without which this answer would not be dialled for this endpoint, or the empty string."""
        if endpoint in self.static:
            return "network.resolve"
        return exemption(answer[0], self.policy, private=endpoint in self.private)


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
        answers = await self._answers(endpoint)
        return [_info(self._vetted(endpoint, answer, len(answers))) for answer in answers[:ANSWERS]]

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """Dial a vetted address, or vet a literal first; raises DialError (`address`, `timeout`) or OSError."""
        if _own_traffic.get() or sock.family not in (socket.AF_INET, socket.AF_INET6):
            return await super().sock_connect(sock, address)
        vetted = (
            address if isinstance(address, VettedAddress) else self._vet_literal((str(address[0]), int(address[1])))
        )
        route.note(vetted[0], vetted.exempt)
        try:
            async with asyncio.timeout(vetted.seconds):
                return await super().sock_connect(sock, tuple(vetted))
        except TimeoutError:
            raise DialError("timeout", "connecting took too long") from None

    async def _answers(self, endpoint: Endpoint) -> list[Endpoint]:
        """Every address of an endpoint once all of them have been vetted; a static answer alone, which only may not be ours."""
        if (static := self.guard.static.get(endpoint)) is not None:
            refuse_own(static, self.guard.policy)
            return [static]
        found = [(text, endpoint[1]) for text in await self._lookup(endpoint[0])]
        self._refuse(endpoint, [text for text, _ in found], "resolves to")
        return found

    def _refuse(self, endpoint: Endpoint, texts: Sequence[str], verb: str) -> None:
        refused = vet_all(texts, endpoint[1], self.guard.policy, private=endpoint in self.guard.private)
        if refused is not None:
            route.note(refused[0])
            raise DialError("address", f"{endpoint[0]} {verb} {refused[1]}")

    async def _lookup(self, host: str) -> Sequence[str]:
        try:
            async with asyncio.timeout(self.guard.resolve_seconds):
                return await self.guard.resolve(host)
        except TimeoutError:
            raise DialError("resolve", f"looking up {host} took too long") from None
        except OSError as error:
            raise DialError("resolve", f"{host}: {error}") from None

    def _vetted(self, endpoint: Endpoint, answer: Endpoint, count: int = 1) -> VettedAddress:
        vetted = VettedAddress(answer)
        vetted.seconds = max(self.guard.connect_seconds / min(count, ANSWERS), min(3.0, self.guard.connect_seconds))
        vetted.exempt = self.guard.exemption(endpoint, answer)
        return vetted

    def _vet_literal(self, endpoint: Endpoint) -> VettedAddress:
        if (static := self.guard.static.get(endpoint)) is not None:
            refuse_own(static, self.guard.policy)
            return self._vetted(endpoint, static)
        self._refuse(endpoint, [endpoint[0]], "is")
        return self._vetted(endpoint, endpoint)


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
        route.note(endpoint[0])
        raise DialError("address", "the static answer is an address of Effectgate itself")


def _info(address: VettedAddress) -> AddressInfo:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    return (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)
