"""A grant as its agent or its owner sees it: Goal, Can, Cannot, Limits, Risk (design.md sections 4 and 7)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from effectgate.policy.grant import EffectIndex, Grant, GrantEntry
from effectgate.policy.vocabulary import Risk


def grant_json(grant: Grant, catalog: EffectIndex) -> dict[str, object]:
    """The whole grant, JSON-ready; the answer of `http://effectgate.internal/v1/grant`."""
    return {
        "principal": grant.principal,
        "goal": grant.goal,
        "grant_id": grant.id,
        "catalog_digest": grant.catalog_digest,
        "ceiling": grant.ceiling.name,
        "can": [_entry_json(entry, catalog) for entries in grant.entries.values() for entry in entries],
        "cannot": [{"effect": item.effect, "reason": item.reason} for item in grant.cannot],
        "limits": _limits_json(grant),
        "risk": risk.word if (risk := top_risk(grant, catalog)) is not None else None,
        "expires": grant.expires.isoformat() if grant.expires else None,
        "escalation": grant.escalation,
    }


def _entry_json(entry: GrantEntry, catalog: EffectIndex) -> dict[str, object]:
    effect = catalog.effects[entry.effect]
    return {"effect": effect.id, "title": effect.title, "risk": effect.risk.word, "where": _where(entry)}


def _where(entry: GrantEntry) -> dict[str, list[object]]:
    return {name: [value.facts() for value in values] for name, values in entry.where.items()}


def top_risk(grant: Grant, catalog: EffectIndex) -> Risk | None:
    """The riskiest thing that the grant can do; None where it can do nothing."""
    return max((catalog.effects[effect].risk for effect in grant.entries), default=None)


def risk_text(grant: Grant, catalog: EffectIndex) -> str:
    """The top risk, and how many effects there are of each, the riskiest first, in one line."""
    counts = Counter(catalog.effects[effect].risk for effect in grant.entries)
    shares = ", ".join(f"{counts[risk]} {risk.word}" for risk in sorted(counts, reverse=True))
    return f"{max(counts).word} ({shares})" if counts else "none, it can do nothing"


def _limits_json(grant: Grant) -> Mapping[str, object] | None:
    limits = grant.limits
    return {"requests": limits.requests, "upload_bytes": limits.upload_bytes, "per": limits.per} if limits else None


def scope_text(entry: GrantEntry) -> str:
    """The scope of an entry in one line."""
    return json.dumps(_where(entry), ensure_ascii=False)


def limits_text(grant: Grant) -> str:
    """Limits, expiry and escalation in one line."""
    parts = []
    if grant.limits is not None:
        for count, what in ((grant.limits.requests, "requests"), (grant.limits.upload_bytes, "bytes uploaded")):
            if count is not None:
                parts.append(f"{count} {what} per {grant.limits.per}")
    parts.append(f"expires {grant.expires.isoformat()}" if grant.expires else "does not expire")
    parts.append("asks a person for more" if grant.escalation == "ask" else "cannot ask for more")
    return ", ".join(parts)
