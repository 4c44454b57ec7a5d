"""What a refusal says: the JSON body and the headers of design.md section 4. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from effectgate.policy.verdict import Proposal, Verdict
from effectgate.policy.vocabulary import Reason

ESCALATE_URL = "http://effectgate.internal/v1/escalate"


class Target(Protocol):
    """What was asked for: RequestFacts, or the little that is known of a request that never became facts."""

    @property
    def method(self) -> str:
        """The method, empty where unknown."""

    @property
    def scheme(self) -> str:
        """`http` or `https`, empty where unknown."""

    @property
    def host(self) -> str:
        """The host, empty where unknown."""

    @property
    def port(self) -> int:
        """The port, 0 where unknown."""

    @property
    def path(self) -> str:
        """The path without its query, empty where unknown."""


def refusal_body(verdict: Verdict, target: Target, principal: str, receipt_id: str | None) -> dict[str, object]:
    """The body of a refusal, JSON-ready. Of the grant it says nothing but what this request would need."""
    return {
        "verdict": str(verdict.verdict),
        "reason_code": str(verdict.reason_code),
        "reason": verdict.reason,
        "request": {
            "method": target.method,
            "scheme": target.scheme,
            "host": target.host,
            "port": target.port,
            "path": target.path,
        },
        "would_admit": [proposal_json(proposal) for proposal in verdict.would_admit],
        "next_step": next_step(verdict, target, principal),
        "escalation_id": None,
        "receipt_id": receipt_id,
        "principal": principal,
    }


def proposal_json(proposal: Proposal) -> dict[str, object]:
    """One entry of `would_admit`; `also` only where the effect alone would not do."""
    entry: dict[str, object] = {
        "effect": proposal.effect,
        "title": proposal.title,
        "risk": proposal.risk.word,
        "where": where_json(proposal),
        "within_ceiling": proposal.within_ceiling,
    }
    if proposal.also:
        entry["also"] = list(proposal.also)
    return entry


def where_json(proposal: Proposal) -> dict[str, object]:
    """The scope of a proposal with lists and plain objects in place of tuples and mappings."""
    return {name: _plain(value) for name, value in proposal.where.items()}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def next_step(verdict: Verdict, target: Target, principal: str) -> str:
    """One thing that can be done now, by the agent where it can, else by the person it works for."""
    if not verdict.would_admit:
        return _WITHOUT_PROPOSAL[verdict.reason_code].format(
            method=target.method, host=target.host, port=target.port, principal=principal or "this agent"
        )
    proposal = next((entry for entry in verdict.would_admit if entry.within_ceiling), None)
    if proposal is None:
        first = verdict.would_admit[0]
        return (
            f"no request can widen this: {first.effect} ({first.risk.word}) is above the ceiling of this grant; "
            f"a person must raise `ceiling:` of {principal or 'this agent'} in grants.yaml and add the effect there"
        )
    return f"ask for it: POST {ESCALATE_URL} {_ask(proposal)}"


def _ask(proposal: Proposal) -> str:
    ask: dict[str, object] = {"effect": proposal.effect, "where": where_json(proposal)}
    if proposal.also:
        ask["also"] = list(proposal.also)
    return json.dumps(ask)


# Where no effect can be proposed. None of these names what the grant or the catalogue holds.
_WITHOUT_PROPOSAL = {
    Reason.NONE: "",
    Reason.INSUFFICIENT_PRIVILEGE: "a person must add an effect for this to the grant of {principal} in grants.yaml",
    Reason.APPROVAL_REQUIRED: "wait for a person to approve it, then send the request again",
    Reason.DATA_EGRESS_BLOCKED: "no effect names this request, so it cannot be asked for; a person can add one: "
    "a pack with a shape for {method} on {host} in a directory of `packs:`, then the effect in grants.yaml",
    Reason.ENVELOPE_INVALID: "send the request in its plain spelling",
    Reason.SANDBOX_VIOLATION: "use another address; only a person can open this one, under `network:` in effectgate.yaml",
    Reason.TEMPORAL_THROTTLE: "wait, then send fewer requests at once",
    Reason.BUDGET_EXCEEDED: "wait until the limit resets; a person can raise `limits:` of {principal} in grants.yaml",
    Reason.NO_POLICY_DEFINED: "a person must give {principal} a grant that is in force, in grants.yaml",
    Reason.PDP_ERROR: "try again; if it persists, a person finds the cause with `effectgate doctor`",
}


def answer_headers(verdict: Verdict, receipt_id: str | None) -> tuple[tuple[str, str], ...]:
    """The `X-Effectgate-*` headers: the admitting effect on ALLOW, the first that would admit otherwise; empty ones left out."""
    effect = verdict.effect or next((proposal.effect for proposal in verdict.would_admit), "")
    pairs = (
        ("X-Effectgate-Verdict", str(verdict.verdict)),
        ("X-Effectgate-Reason", str(verdict.reason_code)),
        ("X-Effectgate-Effect", effect),
        ("X-Effectgate-Receipt", receipt_id or ""),
    )
    return tuple((name, value) for name, value in pairs if value)
