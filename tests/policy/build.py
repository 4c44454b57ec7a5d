"""Effects and catalogs in a line each, for tables of the policy core's tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from effectgate.policy.catalog import Catalog
from effectgate.policy.decision import decide
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.facts import RequestFacts, facts_from_url
from effectgate.policy.grant import Grant, GrantEntry, grant_of_ids
from effectgate.policy.host import HostPattern
from effectgate.policy.path import PathPattern
from effectgate.policy.scope import ScopeValue
from effectgate.policy.value import ValuePattern
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import RISKS

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
METHODS = {"R": "GET HEAD", "*": ""}


def patterns(table: dict[str, str | list[str]]) -> dict[str, tuple[ValuePattern, ...]]:
    """Discriminators as a pack writes them."""
    return {
        name: tuple(ValuePattern.parse(t) for t in ([text] if isinstance(text, str) else text))
        for name, text in table.items()
    }


def shape(text: str, **keys: Any) -> Shape:
    """`"GET POST api.test/a/{b}"` and any further key of a shape."""
    *methods, place = text.split(" ")
    host, slash, path = place.partition("/")
    for carrier in ("query", "headers", "form", "json"):
        if carrier in keys:
            keys[carrier] = patterns(keys[carrier])
    fold = keys.get("fold", False)
    return Shape(frozenset(methods), HostPattern.parse(host), PathPattern.parse(slash + path, fold), **keys)


def effect(
    effect_id: str, risk: str, *shapes: Shape | str, hosts: tuple[str, ...] = (), reserved: bool = False
) -> Effect:
    """An effect with these shapes, or a vouch with `hosts` alone."""
    made = tuple(shape(s) if isinstance(s, str) else s for s in shapes)
    return Effect(
        effect_id,
        effect_id.replace("/", " "),
        RISKS[risk],
        ("web_fetch",),
        hosts=hosts,
        shapes=made,
        reserved=reserved,
        digest=effect_id,
    )


def scoped(catalog: Catalog, *entries: tuple[str, dict[str, str | list[str]]]) -> Grant:
    """A grant of entries, each an id and its `where` of plain patterns (`=text` is a literal)."""
    grant = grant_of_ids(catalog, [])
    made: dict[str, tuple[GrantEntry, ...]] = {}
    for effect_id, where in entries:
        scope = {
            name: tuple(
                ScopeValue(t.removeprefix("="), t.startswith("=")) for t in ([text] if isinstance(text, str) else text)
            )
            for name, text in where.items()
        }
        made[effect_id] = (*made.get(effect_id, ()), GrantEntry(effect_id, scope))
    return Grant(grant.principal, made, ())


def ask(catalog: Catalog, granted: Grant | str, request: str | RequestFacts, **keys: Any) -> Verdict:
    """Decide `"GET https://…"` under a grant, or under bare ids with spaces between them."""
    grant = grant_of_ids(catalog, granted.split()) if isinstance(granted, str) else granted
    if isinstance(request, str):
        method, _, url = request.partition(" ")
        request = facts_from_url(method, url, **keys)
    return decide(catalog, grant, request, now=NOW)
