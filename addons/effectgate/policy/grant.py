"""Grants as values: what one agent can do, cannot do and why, within which limits (design.md sections 2 and 6)."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, Protocol

import rfc8785

from effectgate.policy.effect import Effect
from effectgate.policy.lattice import BOTTOM, OPEN, Ceiling, Profile
from effectgate.policy.scope import Where

Escalation = Literal["ask", "deny"]

# What `limits.per` may say, in seconds.
PERIODS: Mapping[str, int] = {"minute": 60, "hour": 3600, "day": 86400, "week": 604800}


class UnknownEffectError(LookupError):
    """An effect id that the catalogue does not have. `message` names it, `fix` says what to write."""

    def __init__(self, effect: str, known: Iterable[str]) -> None:
        self.message = f"there is no effect {effect!r} in the catalogue"
        near = difflib.get_close_matches(effect, list(known), n=1)
        self.fix = f"write {near[0]!r}" if near else "choose an id from `effectgate packs list`"
        super().__init__(f"{self.message}; {self.fix}")


class EffectIndex(Protocol):
    """What a grant needs of a catalogue."""

    @property
    def effects(self) -> Mapping[str, Effect]:
        """Every effect by its id."""

    @property
    def digest(self) -> str:
        """``sha256:`` over all of them."""


@dataclass(frozen=True, slots=True)
class GrantEntry:
    """One effect of a grant, with the parameters that narrow it and the credentials it may be used with (empty: any).

    `profile` holds its operations as lowered by the ceiling.
    """

    effect: str
    where: Where = field(default_factory=dict)
    credential: frozenset[str] = frozenset()
    profile: Profile = BOTTOM

    def covers(self, parameters: Mapping[str, str], fold: bool = False) -> bool:
        """Whether every scoped parameter is bound, and to a value in its scope."""
        return all(
            name in parameters and any(value.covers(parameters[name], fold) for value in values)
            for name, values in self.where.items()
        )

    def facts(self) -> dict[str, object]:
        """The entry for JSON, canonical."""
        where = {name: [value.facts() for value in values] for name, values in self.where.items()}
        return {
            "effect": self.effect,
            "where": where,
            "credential": sorted(self.credential),
            "operations": self.profile.words(),
        }


@dataclass(frozen=True, slots=True)
class Cannot:
    """An effect that the grant lists and does not hold, and the sentence that says why."""

    effect: str
    reason: str


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a grant may be used in each period; None is no limit. `per` is a key of PERIODS."""

    requests: int | None
    upload_bytes: int | None
    per: str

    @property
    def seconds(self) -> int:
        """The length of the period."""
        return PERIODS[self.per]


@dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """What one agent holds. `entries` are what it can do, by effect id; `cannot` what it lists in vain."""

    principal: str
    entries: Mapping[str, tuple[GrantEntry, ...]]
    cannot: tuple[Cannot, ...] = ()
    ceiling: Ceiling = OPEN
    expires: datetime | None = None
    limits: Limits | None = None
    escalation: Escalation = "deny"
    catalog_digest: str = ""
    id: str = ""
    digest: str = ""
    observe: datetime | None = None  # until when requests are only recorded, for `grant propose`
    goal: str = ""
    narrowed: frozenset[str] = field(init=False)  # effects that some entry narrows by parameters or credentials

    def __post_init__(self) -> None:
        narrowed = (key for key, group in self.entries.items() if any(e.where or e.credential for e in group))
        object.__setattr__(self, "narrowed", frozenset(narrowed))

    @property
    def empty(self) -> bool:
        """Whether it admits nothing at all."""
        return not self.entries

    @property
    def profile(self) -> Profile:
        """The operations of all entries together; never above the ceiling's."""
        profile = BOTTOM
        for entries in self.entries.values():
            profile = profile.join(entries[0].profile)
        return profile


def sealed_grant(grant: Grant, catalog: EffectIndex) -> Grant:
    """The same grant with its digest, over all of it and over the digests of its effects, and the id made from that."""
    digest = hashlib.sha256(rfc8785.dumps(_facts(grant, catalog))).hexdigest()  # type: ignore[arg-type]
    return replace(grant, catalog_digest=catalog.digest, id=f"grant-{digest[:16]}", digest=f"sha256:{digest}")


def _facts(grant: Grant, catalog: EffectIndex) -> dict[str, object]:
    can = [
        {**entry.facts(), "digest": catalog.effects[effect].digest}
        for effect, entries in grant.entries.items()
        for entry in entries
    ]
    limits = grant.limits
    return {
        "principal": grant.principal,
        "can": can,
        "cannot": [[item.effect, item.reason] for item in grant.cannot],
        "ceiling": grant.ceiling.name,
        "expires": grant.expires.isoformat() if grant.expires else None,
        "limits": [limits.requests, limits.upload_bytes, limits.per] if limits else None,
        "escalation": grant.escalation,
        "observe": grant.observe.isoformat() if grant.observe else None,
        "catalog": catalog.digest,
    }


def by_effect(entries: Iterable[GrantEntry]) -> Mapping[str, tuple[GrantEntry, ...]]:
    """Entries grouped by effect, in their order: several entries of one effect share its scope."""
    out: dict[str, tuple[GrantEntry, ...]] = {}
    for entry in entries:
        out[entry.effect] = (*out.get(entry.effect, ()), entry)
    return out


def grant_of_ids(catalog: EffectIndex, ids: Iterable[str], principal: str = "explain") -> Grant:
    """The grant of bare ids for `explain --effects` and pack examples: no ceiling, scope, limit or expiry.

    Tenant parameters count as scoped to "*" here. Raises UnknownEffectError.
    """
    entries, cannot = [], []
    for effect_id in dict.fromkeys(ids):
        if effect_id not in catalog.effects:
            raise UnknownEffectError(effect_id, catalog.effects)
        effect = catalog.effects[effect_id]
        if reason := OPEN.admits(effect):
            cannot.append(Cannot(effect_id, reason))
        else:
            entries.append(GrantEntry(effect_id, profile=OPEN.lower(effect)))
    return sealed_grant(Grant(principal, by_effect(entries), tuple(cannot)), catalog)
