"""How much of the proxy each principal takes: connections, requests in flight, bytes of bodies held (issue 3, point 5)."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from effectgate.proxy.settings import Limits


@dataclass(slots=True)
class Occupancy:
    """Counts by principal, held against the limits. A principal's own limit keeps it from taking what others need."""

    limits: Limits
    connections: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)

    def connect(self, principal: str) -> bool:
        """Count one more connection; false, and not counted, where the principal has too many."""
        if self.connections[principal] >= self.limits.connections_per_agent:
            return False
        self.connections[principal] += 1
        return True

    def disconnect(self, principal: str) -> None:
        """Count one connection less."""
        _take(self.connections, principal, 1)

    def enter(self, principal: str) -> Place | None:
        """A place for one more request; None where the principal has too many in flight."""
        if self.requests[principal] >= self.limits.requests_per_agent:
            return None
        self.requests[principal] += 1
        return Place(self, principal)


@dataclass(slots=True, eq=False)
class Place:
    """The place of one request among those in flight, from the first look at its head until nothing of it is left."""

    occupancy: Occupancy
    principal: str
    held: int = 0  # bytes of its body that wait for a decision, or may come to
    left: bool = False

    def hold(self, size: int) -> bool:
        """Set `size` bytes aside for its body; false, and not counted, where too many are held already."""
        held, limits = self.occupancy.held, self.occupancy.limits
        if held[self.principal] + size > limits.held_bytes_per_agent or held.total() + size > limits.held_bytes:
            return False
        held[self.principal] += size
        self.held += size
        return True

    def let_go(self) -> None:
        """Its body is held no more."""
        _take(self.occupancy.held, self.principal, self.held)
        self.held = 0

    def leave(self) -> None:
        """Give the place up; a second time does nothing."""
        if not self.left:
            self.left = True
            self.let_go()
            _take(self.occupancy.requests, self.principal, 1)


def now() -> float:
    """Seconds on a clock that nobody sets: a jump of the day's clock closes no connection and keeps none open."""
    return time.monotonic()


def _take(counter: Counter[str], principal: str, amount: int) -> None:
    counter[principal] -= amount
    if counter[principal] <= 0:
        del counter[principal]  # a name that is gone leaves nothing behind
