"""The receipts that a boundary leaves: decisions, completions and folds, as drafts ready to be sealed. Pure (design.md section 5)."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from effectgate.policy.grant import Grant
from effectgate.policy.refusal import where_json
from effectgate.policy.rulebook import Rulebook
from effectgate.policy.verdict import Proposal, Verdict
from effectgate.receipts.canonical import canonical
from effectgate.receipts.evidence import Evidence
from effectgate.receipts.folding import Fold
from effectgate.receipts.record import Draft


def decision(
    *, timestamp: str, suffix: str, session_id: str, verdict: Verdict, args: Mapping[str, object], policy: bytes
) -> Draft:
    """The receipt of one verdict. `suffix` makes its ids unique; an ALLOW's `decision_id` is what its completion repeats."""
    return Draft(
        "decision",
        timestamp,
        decision_id=f"dec-{suffix}",
        effect_id=f"eff-{suffix}",
        status=str(verdict.verdict),
        verdict=str(verdict.verdict),
        reason_code=str(verdict.reason_code),
        session_id=session_id,
        args=canonical(dict(args)),
        policy=policy,
    )


def completion(
    *, timestamp: str, allowed: Draft, receipt_id: str, principal: str, output: Mapping[str, object]
) -> Draft:
    """The receipt that closes an ALLOW: bound to it by decision id and by receipt id. It decides nothing, so `verdict` is empty."""
    return Draft(
        "completion",
        timestamp,
        decision_id=allowed.decision_id,
        effect_id=allowed.effect_id,
        status="SUCCESS" if output["success"] else "FAILED",
        session_id=allowed.session_id,
        args=canonical({"completes": receipt_id, "principal": principal}),
        output=canonical(dict(output)),
    )


def fold(*, timestamp: str, suffix: str, principal: str, folded: Fold) -> Draft:
    """The one receipt of many refusals beyond the rate."""
    return Draft(
        "fold",
        timestamp,
        decision_id=f"dec-{suffix}",
        effect_id=f"eff-{suffix}",
        status="DENY",
        verdict="DENY",
        reason_code="TEMPORAL_THROTTLE",
        args=canonical({"principal": principal, "type": "folded_refusals"}),
        output=canonical(folded.output()),
    )


def policy_of(rules: Rulebook, grant: Grant | None, verdict: Verdict, evidence: Evidence) -> bytes:
    """What was decided and by which rules: the object behind `policy_hash`, canonical."""
    effect = rules.catalog.effects.get(verdict.effect) if verdict.effect else None
    digest, grant_id = (grant.digest, grant.id) if grant else ("", "")
    if effect is not None:
        return _policy_of_allow(rules.catalog.digest, digest, grant_id, effect.id, effect.digest, effect.risk.word)
    facts: dict[str, object] = {
        "catalog": rules.catalog.digest,
        "grant": digest,
        "grant_id": grant_id,
        "effect": verdict.effect,
    }
    if verdict.recognised:
        facts["recognised"] = [named.effect for named in verdict.recognised]
    if verdict.would_admit:
        facts["would_admit"] = [_proposal(entry, verdict, evidence) for entry in verdict.would_admit]
    return canonical(facts)


@functools.lru_cache(maxsize=4096)
def _policy_of_allow(catalog: str, grant: str, grant_id: str, effect: str, effect_digest: str, risk: str) -> bytes:
    """Encoded once for each effect of each grant: an agent asks for the same few all day."""
    return canonical(
        {
            "catalog": catalog,
            "grant": grant,
            "grant_id": grant_id,
            "effect": effect,
            "effect_digest": effect_digest,
            "risk": risk,
        }
    )


def _proposal(proposal: Proposal, verdict: Verdict, evidence: Evidence) -> dict[str, object]:
    """A proposal as kept: parameter values are pieces of the path, so only where paths are kept in full, and no secret ones."""
    entry: dict[str, object] = {"effect": proposal.effect, "risk": proposal.risk.word}
    if evidence.paths == "full":
        where = {name: value for name, value in where_json(proposal).items() if name not in verdict.secret}
        entry |= {"where": where} if where else {}
    if proposal.also:
        entry["also"] = list(proposal.also)
    return entry
