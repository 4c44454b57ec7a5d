"""The decision: facts and a grant in, a verdict out. Total, pure, and it says why (design.md sections 2 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from effectgate.policy import sentence
from effectgate.policy.admission import Admission, most_specific
from effectgate.policy.catalog import Catalog
from effectgate.policy.facts import RequestFacts
from effectgate.policy.grant import Grant
from effectgate.policy.proposal import proposals
from effectgate.policy.recognition import Match, recognise
from effectgate.policy.verdict import Named, Proposal, Verdict
from effectgate.policy.vocabulary import Decision, Reason

DEFAULT_PORTS = frozenset({80, 443})
NO_CREDENTIALS: frozenset[str] = frozenset()


def decide(
    catalog: Catalog,
    grant: Grant,
    facts: RequestFacts,
    *,
    now: datetime,
    ports: frozenset[int] = DEFAULT_PORTS,
    credentials: frozenset[str] = NO_CREDENTIALS,
) -> Verdict:
    """Hold one request against one grant, in the order grant, recognition, port.

    `ports` are `network.ports`; `credentials` are the HMACs of the request's own credentials, for entries that pin one.
    """
    matches = recognise(catalog, facts)
    admission = Admission(matches, facts, grant, credentials)
    if grant.empty:
        return _refused(catalog, admission, grant, Reason.NO_POLICY_DEFINED, sentence.empty_grant(_named(matches)))
    if grant.expires is not None and now >= grant.expires:
        return _refused(catalog, admission, grant, Reason.NO_POLICY_DEFINED, sentence.expired(grant.expires))
    if not any(match.named for match in matches):
        return _unnamed(facts, ports)
    admitting = admission.admitting()
    if not admitting:
        return _not_granted(catalog, admission, grant, facts)
    best = most_specific(admitting)
    if facts.port not in ports and not any(match.shape.ports_explicit for match in admitting):
        return Verdict(Decision.DENY, Reason.SANDBOX_VIOLATION, sentence.port_closed(facts), recognised=_named(matches))
    return _allowed(facts, best, matches)


def _allowed(facts: RequestFacts, best: Match, matches: list[Match]) -> Verdict:
    secret = _secret(matches)
    return Verdict(
        Decision.ALLOW,
        Reason.NONE,
        sentence.admitted(sentence.request(facts, matches), best.effect),
        effect=best.effect.id,
        risk=best.effect.risk,
        recognised=_named(matches),
        parameters={name: value for name, value in best.bound.items() if name not in secret},
        secret=secret,
        template=best.shape.path.text,
    )


def _unnamed(facts: RequestFacts, ports: frozenset[int]) -> Verdict:
    if facts.port not in ports:
        return Verdict(Decision.DENY, Reason.SANDBOX_VIOLATION, sentence.port_closed(facts))
    if facts.encoded_slash:
        return Verdict(Decision.DENY, Reason.ENVELOPE_INVALID, sentence.encoded_slash(facts))
    return Verdict(Decision.DENY, Reason.DATA_EGRESS_BLOCKED, sentence.unnamed(facts))


def _not_granted(catalog: Catalog, admission: Admission, grant: Grant, facts: RequestFacts) -> Verdict:
    asks = proposals(catalog, admission, grant)
    first, shown = asks[0], sentence.request(facts, admission.matches)
    if admission.holds(first.effect):
        text = sentence.not_granted(shown, asks, held=True)
    elif first.effect in grant.entries:
        text = sentence.scope_missed(shown, first)
    else:
        text = sentence.not_granted(shown, asks, held=False)
    ask = grant.escalation == "ask" and any(proposal.within_ceiling for proposal in asks)
    verdict = Decision.ESCALATE if ask else Decision.DENY
    reason = Reason.APPROVAL_REQUIRED if ask else Reason.INSUFFICIENT_PRIVILEGE
    return _named_refusal(admission, verdict, reason, text, asks)


def _refused(catalog: Catalog, admission: Admission, grant: Grant, reason: Reason, text: str) -> Verdict:
    return _named_refusal(admission, Decision.DENY, reason, text, proposals(catalog, admission, grant))


def _named_refusal(
    admission: Admission, verdict: Decision, reason: Reason, text: str, asks: tuple[Proposal, ...]
) -> Verdict:
    named = [match for match in admission.matches if match.named]
    template = named[0].shape.path.text if named else ""
    secret = _secret(admission.matches)
    return Verdict(verdict, reason, text, recognised=_named(named), would_admit=asks, secret=secret, template=template)


def _named(matches: list[Match]) -> tuple[Named, ...]:
    """The naming effects, each once, most specific first."""
    seen = {match.effect.id: match.effect for match in matches if match.named}
    return tuple(Named(effect.id, effect.title, effect.risk) for effect in seen.values())


def _secret(matches: Sequence[Match]) -> frozenset[str]:
    secrets = [match.shape.secret for match in matches if match.shape.secret]
    return frozenset().union(*secrets) if secrets else NO_CREDENTIALS
