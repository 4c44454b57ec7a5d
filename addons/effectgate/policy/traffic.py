"""Requests that receipts have kept: the least grant that admits them, and what another grant or pack would answer. Pure.

A receipt keeps no header values, no query values and no bodies, and of a path what `receipts.path` says (design.md section 5). What an
answer would need of those is said, never guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property
from urllib.parse import unquote

from effectgate.policy.catalog import Catalog
from effectgate.policy.decision import decide
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.facts import EnvelopeError, RequestFacts, facts_from_url
from effectgate.policy.field import Table
from effectgate.policy.grant import Grant, sealed_grant
from effectgate.policy.scope import ScopeValue, Where
from effectgate.policy.suggestion import LeftOut, Wish
from effectgate.policy.verdict import Proposal, WhereValue
from effectgate.policy.vocabulary import Decision

# A parameter with more different values than this is no scope: a number of a run, not a repository.
MAX_VALUES = 8
# Stands in a URL for names of its query that were kept as tags only.
TAGGED = "…"
ANYWHERE: Mapping[str, WhereValue] = {}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One decision as a receipt keeps it. `url` has the query's names without values; empty where the path was not kept whole.

    `effect`: what admitted it; `asks`: what would have, the first of them first. `shown` is for people.
    """

    principal: str
    verdict: Decision
    reason_code: str
    method: str
    host: str
    shown: str
    url: str = ""
    body: bool = False
    effect: str = ""
    asks: tuple[Proposal, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether it was admitted."""
        return self.verdict is Decision.ALLOW


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded decision and the answer of now; `now` None: it cannot be told, for the reason given."""

    recorded: Recorded
    now: Decision | None
    effect: str
    reason: str

    @property
    def changed(self) -> bool:
        """Whether what was admitted no longer is, or the other way round."""
        return self.now is not None and self.recorded.allowed != (self.now is Decision.ALLOW)


def least_wishes(catalog: Catalog, seen: Iterable[Recorded], now: datetime) -> tuple[list[Wish], list[LeftOut]]:
    """What admits the recorded requests, each as narrowly as its values are known, and what no wish is made of."""
    wishes: Counter[tuple[str, bool, _Key]] = Counter()
    left: Counter[tuple[str, str]] = Counter()
    nobody = sealed_grant(Grant("nobody", {}), catalog)
    for recorded in seen:
        needed = _needed(catalog, recorded, nobody, now)
        reason = _why_left_out(catalog, recorded, needed)
        if reason:
            left[(f"{recorded.method} {recorded.host}".strip(), reason)] += 1
            continue
        for effect, where in needed:
            wishes[(effect, recorded.allowed, _key(where))] += 1
    return _narrowed(catalog, wishes), [LeftOut(f"{what} ({_times(n)})", reason) for (what, reason), n in left.items()]


_Key = tuple[tuple[str, tuple[ScopeValue, ...]], ...]


def _key(where: Mapping[str, WhereValue]) -> _Key:
    return tuple(sorted((name, scope_values(value)) for name, value in where.items()))


def scope_values(value: WhereValue) -> tuple[ScopeValue, ...]:
    """The values of a proposal's `where` as a grant holds them: each is a literal, for it came from a request."""
    several = value if isinstance(value, tuple) else (value,)
    return tuple(ScopeValue(v) if isinstance(v, str) else ScopeValue(v["is"], literal=True) for v in several)


def _needed(
    catalog: Catalog, recorded: Recorded, nobody: Grant, now: datetime
) -> list[tuple[str, Mapping[str, WhereValue]]]:
    """The effects that admit the request, with its values: decided anew where the receipt kept enough, else as it was recorded."""
    facts = facts_of(recorded)
    asks: Sequence[Proposal] = ()
    if facts is not None and not unknown(catalog, facts, recorded):
        asks = decide(catalog, nobody, facts, now=now, ports=frozenset({facts.port})).would_admit
    asks = asks or recorded.asks
    first = next((ask for ask in asks if not recorded.effect or ask.effect == recorded.effect), None)
    if first is None:
        return [(recorded.effect, ANYWHERE)] if recorded.effect else []
    scopes = {ask.effect: ask.where for ask in asks}  # of what blocks it too, where that names the request itself
    return [(effect, scopes.get(effect, ANYWHERE)) for effect in (first.effect, *first.also)]


def _why_left_out(catalog: Catalog, recorded: Recorded, needed: Sequence[tuple[str, Mapping[str, WhereValue]]]) -> str:
    if not needed:
        return _UNNEEDED.get(recorded.reason_code, f"it was refused as {recorded.reason_code}, which no grant changes")
    if missing := [effect for effect, _ in needed if effect not in catalog.effects]:
        return f"this catalogue has no {missing[0]}; load its pack with --packs"
    reserved = [effect for effect, _ in needed if catalog.effects[effect].reserved]
    if reserved and not recorded.allowed:
        return f"it needs {reserved[0]}, which is reserved and was not granted; add it with --effects"
    return ""


_UNNEEDED: Mapping[str, str] = {
    "DATA_EGRESS_BLOCKED": "no effect names it; write a pack with a shape for it, or leave it refused",
    "NO_POLICY_DEFINED": "its receipt does not say what would admit it; let the agent ask again under a grant",
}


def _narrowed(catalog: Catalog, wishes: Counter[tuple[str, bool, _Key]]) -> list[Wish]:
    out: list[Wish] = []
    for effect in dict.fromkeys(effect for effect, _, _ in wishes):
        counts = {key: n for key, n in wishes.items() if key[0] == effect}
        reason = _seen(counts)
        scopes = _without_varying(catalog.effects[effect], [dict(where) for _, _, where in counts])
        out.extend(Wish(effect, reason, where) for where in united(scopes))
    return out


def _seen(counts: Mapping[tuple[str, bool, _Key], int]) -> str:
    admitted = sum(n for (_, allowed, _), n in counts.items() if allowed)
    refused = sum(counts.values()) - admitted
    parts = [f"{what} {_times(n)}" for what, n in (("admitted", admitted), ("refused", refused)) if n]
    return " and ".join(parts)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _without_varying(effect: Effect, scopes: Sequence[Where]) -> list[Where]:
    """The scopes without parameters of too many values; what a grant must scope stays, and what one scope lacks no other has."""
    names = set[str].intersection(*(set(scope) for scope in scopes))
    varying = {name for name in names if len({scope[name] for scope in scopes}) > MAX_VALUES} - effect.tenant
    return [{name: scope[name] for name in sorted(names - varying)} for scope in scopes]


def united(scopes: Iterable[Where]) -> list[Where]:
    """The same scopes in fewer: two that differ in one parameter alone are one with the values of both."""
    found = [dict(scope) for scope in scopes]
    for name in sorted({name for scope in found for name in scope}):
        groups: dict[_Key, dict[str, tuple[ScopeValue, ...]]] = {}
        for scope in found:
            rest = tuple(sorted((n, v) for n, v in scope.items() if n != name))
            known = groups.setdefault(rest, {**scope, name: ()} if name in scope else scope)
            known[name] = tuple(sorted({*known[name], *scope[name]}, key=lambda value: value.text))
        found = list(groups.values())
    return [dict(scope) for scope in {tuple(sorted(scope.items())): scope for scope in found}.values()]


def replay(catalog: Catalog, grant: Grant, recorded: Recorded, now: datetime, ports: frozenset[int]) -> Replayed:
    """What this grant would answer to a recorded request."""
    facts = facts_of(recorded)
    reason = "its receipt does not keep the whole path (receipts.path)" if facts is None else ""
    if facts is None or (reason := unknown(catalog, facts, recorded)):
        return Replayed(recorded, None, "", reason)
    verdict = decide(catalog, grant, facts, now=now, ports=ports)
    if not verdict.allowed and any(entry.credential for entries in grant.entries.values() for entry in entries):
        return Replayed(recorded, None, "", "the grant pins a credential, and its receipt does not say which was used")
    return Replayed(recorded, verdict.verdict, verdict.effect or "", verdict.reason)


def facts_of(recorded: Recorded) -> RequestFacts | None:
    """The facts as far as they were kept: no headers, query names without values, a body that is there and unread."""
    if not recorded.url:
        return None
    try:
        facts = facts_from_url(recorded.method, recorded.url)
    except EnvelopeError:
        return None
    return facts.with_body(None) if recorded.body else facts


@dataclass(frozen=True)
class Unread(RequestFacts):
    """Facts of which header and query cannot be read, so that no shape is ruled out by what they do not have."""

    @cached_property
    def header_table(self) -> Table | None:
        """None."""
        return None

    @cached_property
    def query_table(self) -> Table | None:
        """None."""
        return None


def unknown(catalog: Catalog, facts: RequestFacts, recorded: Recorded) -> str:
    """What the answer depends on and no receipt keeps, as a sentence, or the empty text."""
    unread = Unread(**{item.name: getattr(facts, item.name) for item in fields(facts)})
    asked = next((what for entry in catalog.candidates(unread) for what in _unkept(entry.shape, facts, recorded)), "")
    return f"the answer depends on {asked}, which receipts do not keep" if asked else ""


def _unkept(shape: Shape, facts: RequestFacts, recorded: Recorded) -> Iterator[str]:
    if shape.headers or shape.absent:
        yield "its headers"
    if facts.query and _asks_query(shape, {unquote(part.partition("=")[0]) for part in facts.query.split("&")}):
        yield "the values of its query"
    if recorded.body and (shape.form or shape.json or shape.graphql is not None):
        yield "its body"


def _asks_query(shape: Shape, names: set[str]) -> bool:
    """Whether the shape asks for a value that is there, or for a name that may be."""
    if TAGGED in names and (shape.query or shape.query_only is not None):
        return True
    return bool(names.intersection(shape.query)) or (shape.graphql is not None and "query" in names)
