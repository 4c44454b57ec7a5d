"""The rulebook: everything a decision depends on, frozen, so that a reload is one assignment (design.md sections 4 and 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from effectgate.policy.catalog import Catalog
from effectgate.policy.decision import DEFAULT_PORTS
from effectgate.policy.facts import RequestFacts
from effectgate.policy.grant import Grant
from effectgate.policy.verdict import Verdict


class Decide(Protocol):
    """The decision as the boundary calls it; `policy.decision.decide` is the one that is used."""

    def __call__(
        self,
        catalog: Catalog,
        grant: Grant,
        facts: RequestFacts,
        *,
        now: datetime,
        ports: frozenset[int],
        credentials: frozenset[str],
    ) -> Verdict:
        """The verdict on `facts` under `grant`."""


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Catalogue, grants by principal, and `network.ports`."""

    catalog: Catalog
    grants: Mapping[str, Grant] = field(default_factory=dict)
    ports: frozenset[int] = DEFAULT_PORTS

    def grant(self, principal: str) -> Grant:
        """The grant of a principal, empty where it has none."""
        return self.grants.get(principal) or Grant(principal, {})

    def granted(self, principal: str, now: datetime) -> bool:
        """Whether the principal holds a grant that is neither empty nor expired."""
        grant = self.grants.get(principal)
        return grant is not None and not grant.empty and (grant.expires is None or now < grant.expires)
