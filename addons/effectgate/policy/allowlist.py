"""Allow-lists of hosts and URLs, as other tools have them: which effects each entry stood for, and which no effect should carry. Pure.

An allowed host says nothing about what may be done there; an effect does. Of an entry only the reads are carried over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from effectgate.policy.authority import is_address
from effectgate.policy.catalog import Catalog
from effectgate.policy.decision import decide
from effectgate.policy.effect import Effect
from effectgate.policy.facts import EnvelopeError, facts_from_url
from effectgate.policy.fault import PatternError
from effectgate.policy.grant import Grant, sealed_grant
from effectgate.policy.host import HostPattern
from effectgate.policy.suggestion import Wish
from effectgate.policy.traffic import scope_values
from effectgate.policy.vocabulary import Risk

# A wildcard over more hosts of the catalogue than this, or over more packs, is no service: it is an estate.
MAX_HOSTS = 12
MAX_PACKS = 2

# What surrounds an entry in the files that people copy it from: JSON, YAML, TOML, and Claude Code's `WebFetch(domain:…)`.
_DRESS = re.compile(r"""^[\s"',-]*(?:WebFetch\(domain:)?(.*?)\)?[\s"',;]*$""")
_ENTRY = re.compile(
    r"(?:(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*)://)?(?P<host>\[[^\]]*\]|[^/:?#]*)(?::(?P<port>[0-9*]+))?(?P<path>[/?#].*)?"
)
_LOCAL = re.compile(r"(?:.*\.)?(?:localhost|local|internal|localdomain)")


@dataclass(frozen=True, slots=True)
class AllowedHost:
    """One line: the host, and the path of a URL ("" for a host alone)."""

    line: str
    host: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one entry comes to. `purpose` says what it was for; `refusal` why no effect should carry it, empty where some may."""

    allowed: AllowedHost
    effects: tuple[str, ...]
    purpose: str
    refusal: str
    wishes: tuple[Wish, ...]
    rest: str = ""  # what of it was not carried over


def read_allowlist(text: str) -> list[AllowedHost]:
    """The entries of a list, one a line, each once; blank lines, comments and the brackets of the file around it are no entries."""
    lines = [re.split(r"(?:^|\s)(?:#|//)", line, maxsplit=1)[0] for line in text.splitlines()]
    found = [dressed[1].strip() for line in lines if (dressed := _DRESS.match(line))]
    return list(dict.fromkeys(_allowed(bare) for bare in found if bare.strip("[]{}")))


def _allowed(bare: str) -> AllowedHost:
    parts = _ENTRY.fullmatch(bare)
    if parts is None:
        return AllowedHost(bare, bare)
    host = parts["host"].strip("[]").rstrip(".").lower()
    host = re.sub(r"^(?:\*\*\.|\.)", "*.", host)
    path = parts["path"] or ""
    return AllowedHost(bare, host, "" if path.rstrip("*") in ("", "/") else path)


def read_entry(catalog: Catalog, allowed: AllowedHost, now: datetime) -> Reading:
    """What the entry stood for in this catalogue."""
    try:
        host = HostPattern.parse(allowed.host)
    except PatternError as error:
        return _refused(allowed, (), f"{error.message}; {error.fix}")
    effects = _at(catalog, host)
    if reason := _address(host) or _estate(host, effects):
        return _refused(allowed, effects, reason)
    if not effects:
        return _refused(allowed, (), "no effect names it: write a pack that says what is done there, or leave it out")
    return _carried(catalog, allowed, effects, now)


def _refused(allowed: AllowedHost, effects: Sequence[Effect], reason: str) -> Reading:
    return Reading(allowed, tuple(effect.id for effect in effects), _purpose(effects), reason, ())


def _at(catalog: Catalog, host: HostPattern) -> list[Effect]:
    return [effect for effect in catalog.effects.values() if any(_meets(host, other) for other in _hosts(effect))]


def _hosts(effect: Effect) -> Sequence[HostPattern]:
    return effect.reach or [HostPattern.parse(text) for text in effect.hosts if not text.startswith("@")]


def _meets(host: HostPattern, other: HostPattern) -> bool:
    return host.intersects(other) if host.wild or host.parameters else other.match(host.text) is not None


def _address(host: HostPattern) -> str:
    if is_address(host.text):
        return "an address is no service: name the host; a private one is opened under network.allow_private"
    if _LOCAL.fullmatch(host.text):
        return "it is on this machine or in its network: give it a name under sites: in effectgate.yaml"
    return ""


def _estate(host: HostPattern, effects: Sequence[Effect]) -> str:
    if not host.wild:
        return ""
    if suffix := host.private_suffix():
        return f"anyone can have a host below {suffix}; name the hosts that are meant"
    hosts = {other.text for effect in effects for other in _hosts(effect) if _meets(host, other)}
    packs = sorted({effect.pack for effect in effects})
    if len(hosts) > MAX_HOSTS or len(packs) > MAX_PACKS:
        return f"it covers {len(hosts)} hosts of {', '.join(packs)}; name the hosts that are meant"
    return ""


def _purpose(effects: Sequence[Effect]) -> str:
    """How many effects of each risk, and the titles of the first of the least risky."""
    if not effects:
        return ""
    counts = Counter(effect.risk for effect in effects)
    shares = ", ".join(f"{counts[risk]} {risk.word}" for risk in sorted(counts))
    titles = [effect.title for effect in sorted(effects, key=lambda effect: effect.risk)]
    more = f" and {len(titles) - 3} more" if len(titles) > 3 else ""
    return f"{'; '.join(titles[:3])}{more} ({shares})"


def _carried(catalog: Catalog, allowed: AllowedHost, effects: Sequence[Effect], now: datetime) -> Reading:
    wishes = _of_path(catalog, allowed, now) or [
        Wish(effect.id, f"at {allowed.host}", {}) for effect in effects if _plain_read(effect)
    ]
    ids, wished = tuple(effect.id for effect in effects), {wish.effect for wish in wishes}
    if not wishes:
        return _refused(
            allowed, effects, f"nothing that is only read lies there; add what is meant with --effects {ids[0]}"
        )
    rest = [effect for effect in effects if effect.id not in wished]
    return Reading(allowed, ids, _purpose(effects), "", tuple(wishes), _rest(rest))


def _plain_read(effect: Effect) -> bool:
    return effect.risk is Risk.READ and not effect.reserved


def _of_path(catalog: Catalog, allowed: AllowedHost, now: datetime) -> list[Wish]:
    """The reads that name a GET of the URL, with its values; none where nothing names it."""
    if not allowed.path or "*" in allowed.host:
        return []
    try:
        facts = facts_from_url("GET", f"https://{allowed.host}{allowed.path.rstrip('*')}")
    except EnvelopeError:
        return []
    asks = decide(catalog, sealed_grant(Grant("nobody", {}), catalog), facts, now=now).would_admit
    return [
        Wish(ask.effect, f"at {allowed.line}", {name: scope_values(value) for name, value in ask.where.items()})
        for ask in asks
        if _plain_read(catalog.effects[ask.effect]) and not ask.also
    ]


def _rest(effects: Iterable[Effect]) -> str:
    """What is not carried over, in a sentence: the riskier ones of the host are what the allow-list never told apart."""
    held_back = [effect for effect in effects if not _plain_read(effect)]
    if not held_back:
        return ""
    first = min(held_back, key=lambda effect: effect.risk)
    count = f"{len(held_back)} effects" if len(held_back) > 1 else "one effect"
    return f"{count} there that change or reveal something, such as {first.id} ({first.title}); add what is meant with --effects"
