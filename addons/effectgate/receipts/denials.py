"""Refusals grouped by the effect that would admit them, retries folded: what a person reads before approving anything. Pure (design.md section 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

UNNAMED = ""  # the effect of refusals that no effect names


@dataclass(slots=True)
class DenialGroup:
    """Refusals of one principal for one reason that the same effects would admit.

    `requests` counts each different request (method, host, path as kept): more than one is a retry.
    """

    principal: str
    effects: tuple[
        str, ...
    ]  # the first proposal and what must be granted beside it; empty where no effect names the request
    risk: str
    reason_code: str
    first: str
    last: str
    requests: Counter[str] = field(default_factory=Counter)
    folded: int = 0  # refusals beyond the rate, which have no receipt of their own
    receipt_id: str = ""  # of the last one

    @property
    def count(self) -> int:
        """How many refusals."""
        return self.requests.total() + self.folded


def group_denials(receipts: Iterable[Mapping[str, Any]]) -> list[DenialGroup]:
    """The groups, the most recent last."""
    groups: dict[tuple[str, tuple[str, ...], str], DenialGroup] = {}
    for receipt in receipts:
        if receipt.get("verdict") in ("DENY", "ESCALATE"):
            _add(groups, receipt)
    return sorted(groups.values(), key=lambda group: group.last)


def _add(groups: dict[tuple[str, tuple[str, ...], str], DenialGroup], receipt: Mapping[str, Any]) -> None:
    args, policy = receipt.get("args", {}), receipt.get("policy", {})
    proposals = policy.get("would_admit", [])
    effects = (proposals[0]["effect"], *proposals[0].get("also", ())) if proposals else ()
    risk = proposals[0]["risk"] if proposals else ""
    key = (args.get("principal", ""), effects, receipt["reason_code"])
    when = receipt["timestamp"]
    group = groups.setdefault(key, DenialGroup(key[0], effects, risk, key[2], when, when))
    group.last, group.receipt_id = when, receipt["receipt_id"]
    if receipt.get("kind") == "fold":
        group.folded += receipt["output"]["count"]
    else:
        group.requests[_shown(args)] += 1


def _shown(args: Mapping[str, Any]) -> str:
    """The request as a person reads it, as far as the receipt kept it."""
    host, port, path = args.get("host", ""), args.get("port", 0), args.get("path", "")
    usual = {"http": 80, "https": 443}.get(args.get("scheme", ""))
    return f"{args.get('method', '')} {host}{'' if port in (0, usual) else f':{port}'}{path}".strip()
