"""The sentences of a verdict: for an agent that has nothing but this text (design.md section 4).

They name effects of the catalogue and the request's own words, never the grant or what else it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from effectgate.policy.effect import Effect
from effectgate.policy.facts import RequestFacts
from effectgate.policy.outcome import Ask
from effectgate.policy.recognition import Match
from effectgate.policy.verdict import Named


def admitted(request: str, effect: Effect) -> str:
    """The reason of an ALLOW."""
    return f"{request} is {_described(effect)}, which this grant includes."


def not_granted(request: str, asks: Sequence[Ask], listed: bool) -> str:
    """The reason where some effect names the request; `listed` says that the grant has the first ask's effect, blocked or narrowed."""
    first, *others = asks
    text = f"{request} is {_described(first.effect)}"
    if first.held:
        text += f", which this grant includes, but it is also {_listed(first.also)}, which this grant does not include."
    elif listed:
        text += ", which this grant includes, but not with these values."
    elif first.also:
        text += f", and also {_listed(first.also)}; this grant does not include them."
    else:
        text += ", which this grant does not include."
    return f"{text} It would also be admitted by {_listed([a.effect.id for a in others], 'or')}." if others else text


def unnamed(facts: RequestFacts) -> str:
    """The reason where no effect names the request."""
    return f"No effect in the catalogue names {facts.method} {facts.url}, so no grant can include it."


def port_closed(facts: RequestFacts) -> str:
    """The reason for a port outside `network.ports` and the shape's own."""
    return f"Port {facts.port} is not open to agents: {facts.method} {facts.host}:{facts.port} is refused."


def encoded_slash(facts: RequestFacts) -> str:
    """The reason where a `%2F` is in a path for which no shape takes one."""
    return f"The path of {facts.method} {facts.host} has an encoded slash (%2F), which no effect for it accepts; send a plain path."


def overgrown(facts: RequestFacts) -> str:
    """The reason where too many effects match one request to weigh them against each other."""
    return f"So many effects of the catalogue match {facts.method} {facts.url} that they cannot be weighed; its packs must be more precise."


def no_grant(principal: str) -> str:
    """The reason where the agent holds no grant."""
    return f"The agent {principal} has no grant." if principal else "There is no grant."


def empty_grant(named: tuple[Named, ...]) -> str:
    """The reason where the grant holds nothing."""
    what = f" The request is {named[0].effect} ({named[0].title}, {named[0].risk.word})." if named else ""
    return f"This grant includes no effect.{what}"


def expired(when: datetime) -> str:
    """The reason where the grant has run out."""
    return f"This grant expired at {when.isoformat()}; a person must renew it."


def request(facts: RequestFacts, matches: Sequence[Match], secret: frozenset[str]) -> str:
    """Method and URL, with every segment that some match binds to a `secret` parameter written as its name."""
    if not secret:
        return f"{facts.method} {facts.url}"
    hidden = {at: name for match in matches for at, name in _secret_segments(match)}
    parts = facts.path[1:].split("/")
    path = "/".join(f"{{{hidden[at]}}}" if at in hidden else part for at, part in enumerate(parts))
    return f"{facts.method} {facts.host}/{path}"


def _secret_segments(match: Match) -> list[tuple[int, str]]:
    """Places of secret parameters. On a padded reading the place may differ: from the first secret on, everything is covered."""
    names = match.shape.secret
    places = [(at, s.name) for at, s in enumerate(match.shape.path.segments) if s.name in names]
    if not places or match.plain:
        return places
    return [(at, places[0][1]) for at in range(len(match.facts.segments))]


def _described(effect: Effect) -> str:
    return f"{effect.id} ({effect.title}, {effect.risk.word})"


def _listed(items: Sequence[str], word: str = "and") -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"
