"""Where a connection to an origin led, and by whose leave: what its completion receipt tells of the address."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from mitmproxy.connection import Server


@dataclass(slots=True)
class Route:
    """`address` is the one that was dialled last, or the one that was refused; `exempt` the setting without which it would be.

    Written by the loop while the connection is made, read when its requests are closed.
    """

    address: str = ""
    exempt: str = ""  # network.resolve, network.allow_private or sites


_routes: WeakKeyDictionary[Server, Route] = WeakKeyDictionary()
_current: ContextVar[Route | None] = ContextVar("route", default=None)


def begin(server: Server) -> Route:
    """The route of a connection that this task is about to make."""
    route = _routes[server] = Route()
    _current.set(route)
    return route


def of(server: Server) -> Route:
    """The route of a connection; an empty one where none was ever begun."""
    return _routes.get(server) or Route()


def note(address: str, exempt: str = "") -> None:
    """Write down an address that is dialled or refused now, in the task that makes the connection."""
    if (route := _current.get()) is not None:
        route.address, route.exempt = address, exempt
