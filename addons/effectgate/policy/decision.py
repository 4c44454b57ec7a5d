"""The decision: facts and a grant in, a verdict out. Total, pure, and it says why (design.md sections 2 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from effectgate.policy import sentence
from effectgate.policy.catalog import Catalog
from effectgate.policy.facts import RequestFacts
from effectgate.policy.grant import Grant
from effectgate.policy.index import Entry
from effectgate.policy.outcome import Outcome, overgrown, weigh, weigh_expired
from effectgate.policy.parts import split
from effectgate.policy.proposal import proposals
from effectgate.policy.recognition import Match, recognise
from effectgate.policy.together import together
from effectgate.policy.verdict import Verdict
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
    """Hold one request against one grant, part by part, in the order envelope (what of it only the catalogue knows), grant,
    recognition, port.

    `ports` are `network.ports`; `credentials` are the HMACs of the request's own credentials, for entries that pin one.
    """
    candidates = catalog.candidates(facts)
    return together(
        [_decide(catalog, grant, part, candidates, now, ports, credentials) for part in split(facts, candidates)]
    )


def _decide(
    catalog: Catalog,
    grant: Grant,
    facts: RequestFacts,
    candidates: Sequence[Entry],
    now: datetime,
    ports: frozenset[int],
    credentials: frozenset[str],
) -> Verdict:
    matches = recognise(candidates, facts)
    if overgrown(matches):
        return Verdict(Decision.DENY, Reason.PDP_ERROR, sentence.overgrown(facts))
    if grant.expires is not None and now >= grant.expires:
        outcome, lapsed = weigh_expired(catalog, grant, matches, facts), sentence.expired(grant.expires)
    else:
        outcome = weigh(catalog, grant, matches, facts, credentials)
        lapsed = sentence.empty_grant(outcome.named) if grant.empty else ""
    if facts.encoded_slash and not outcome.named:
        return Verdict(Decision.DENY, Reason.ENVELOPE_INVALID, sentence.encoded_slash(facts))
    if lapsed:
        return _refused(catalog, facts, matches, outcome, Reason.NO_POLICY_DEFINED, lapsed)
    if not outcome.named:
        return _unnamed(facts, ports)
    if outcome.admitting < 0:
        return _not_granted(catalog, grant, facts, matches, outcome)
    if facts.port not in ports and not outcome.ports_open:
        return Verdict(Decision.DENY, Reason.SANDBOX_VIOLATION, sentence.port_closed(facts), recognised=outcome.named)
    return _allowed(facts, matches, outcome)


def _allowed(facts: RequestFacts, matches: Sequence[Match], outcome: Outcome) -> Verdict:
    best, secret = matches[outcome.admitting], outcome.secret
    return Verdict(
        Decision.ALLOW,
        Reason.NONE,
        sentence.admitted(sentence.request(facts, matches, secret), best.effect),
        effect=best.effect.id,
        risk=best.effect.risk,
        recognised=outcome.named,
        parameters={name: value for name, value in best.bound.items() if name not in secret} if secret else best.bound,
        secret=secret,
        template=best.shape.path.text,
    )


def _unnamed(facts: RequestFacts, ports: frozenset[int]) -> Verdict:
    if facts.port not in ports:
        return Verdict(Decision.DENY, Reason.SANDBOX_VIOLATION, sentence.port_closed(facts))
    return Verdict(Decision.DENY, Reason.DATA_EGRESS_BLOCKED, sentence.unnamed(facts))


def _not_granted(
    catalog: Catalog, grant: Grant, facts: RequestFacts, matches: Sequence[Match], outcome: Outcome
) -> Verdict:
    shown = sentence.request(facts, matches, outcome.secret)
    text = sentence.not_granted(shown, outcome.asks, outcome.asks[0].effect.id in grant.entries)
    if grant.escalation == "ask" and any(ask.within_ceiling for ask in outcome.asks):
        reason = Reason.APPROVAL_REQUIRED
    else:
        reason = Reason.INSUFFICIENT_PRIVILEGE
    return _refused(catalog, facts, matches, outcome, reason, text)


def _refused(
    catalog: Catalog, facts: RequestFacts, matches: Sequence[Match], outcome: Outcome, reason: Reason, text: str
) -> Verdict:
    return Verdict(
        Decision.ESCALATE if reason is Reason.APPROVAL_REQUIRED else Decision.DENY,
        reason,
        text,
        recognised=outcome.named,
        would_admit=proposals(catalog, outcome.asks, matches),
        secret=outcome.secret,
        template=outcome.template,
    )
