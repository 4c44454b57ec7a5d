"""The catalogue that ships in `effects/`, loaded once, and the questions that the tests of this directory put to it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from effectgate.packs_io import Library, load_directories
from effectgate.policy.decision import decide
from effectgate.policy.effect import Effect
from effectgate.policy.facts import EnvelopeError, facts_from_url
from effectgate.policy.grant import Grant, grant_of_ids
from effectgate.policy.site import Sites
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import Risk

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
SITES = {name: [f"{name}.example"] for name in ("jira", "kubernetes")}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@functools.cache
def library() -> Library:
    """Every shipped pack and ceiling; the sites that they know stand where their examples ask for them."""
    return load_directories([ROOT / "effects"], sites=Sites.parse(SITES))


def effects() -> list[Effect]:
    """Every effect, in the order of the packs."""
    return list(library().catalog.effects.values())


def plain_reads() -> list[str]:
    """The ids of all effects of risk read that are not reserved: the widest grant that may change nothing."""
    return [effect.id for effect in effects() if effect.risk is Risk.READ and not effect.reserved]


@functools.cache
def grant(ids: tuple[str, ...]) -> Grant:
    """A grant of these ids, without ceiling, scope or limit."""
    return grant_of_ids(library().catalog, ids)


@dataclass(frozen=True)
class Ask:
    """One request as a person writes it."""

    request: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""

    def under(self, granted: Iterable[str]) -> Verdict:
        """The verdict under a grant of these ids."""
        method, _, url = self.request.partition(" ")
        facts = facts_from_url(method, url, self.headers.items(), self.body.encode() or None)
        return decide(library().catalog, grant(tuple(granted)), facts, now=NOW)

    def refused(self, granted: Iterable[str]) -> bool:
        """Whether the grant does not admit it, be it for want of an effect or because it cannot be read."""
        try:
            return not self.under(granted).allowed
        except EnvelopeError:
            return True


def first_named(verdict: Verdict) -> str | None:
    """The effect that admits, or else the first that a refusal names."""
    return verdict.effect or (verdict.would_admit[0].effect if verdict.would_admit else None)
