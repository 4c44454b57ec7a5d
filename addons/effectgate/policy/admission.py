"""Admission: which held effect admits a request, and what blocks it (design.md section 2, rules 2 and 3).

`Admission` weighs one request against one grant. `would_admit` asks the same object the same question with one effect more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from effectgate.policy.containment import strictly_contained
from effectgate.policy.facts import RequestFacts
from effectgate.policy.grant import GrantEntry
from effectgate.policy.recognition import Match


class Admission:
    """The matches of one request, by effect, and which of the effects the entries of a grant hold for it."""

    __slots__ = ("_credentials", "_entries", "_facts", "_held", "by_effect")

    def __init__(
        self,
        matches: Sequence[Match],
        facts: RequestFacts,
        entries: Mapping[str, tuple[GrantEntry, ...]],
        credentials: frozenset[str],
    ) -> None:
        self.by_effect: dict[str, list[Match]] = {}
        for match in matches:
            self.by_effect.setdefault(match.effect.id, []).append(match)
        self._facts = facts
        self._entries = entries
        self._credentials = credentials
        self._held: dict[str, bool] = {}

    def holds(self, effect: str) -> bool:
        """Whether the grant holds this effect for this request: every match of it, on every reading, is covered by some entry."""
        if effect not in self._held:
            entries = [e for e in self._entries.get(effect, ()) if self._usable(e)]
            self._held[effect] = bool(entries) and self.covered(effect, entries)
        return self._held[effect]

    def _usable(self, entry: GrantEntry) -> bool:
        return not entry.credential or bool(entry.credential & self._credentials)

    def covered(self, effect: str, entries: Sequence[GrantEntry]) -> bool:
        """Whether the entries together cover every match of the effect; an unscoped one covers all."""
        if any(not entry.where for entry in entries):
            return True
        return all(_covers(match, entries) for match in self.by_effect[effect])

    def admitting(self) -> list[Match]:
        """The naming matches of held effects that nothing blocks, most specific first."""
        out: list[Match] = []
        for effect, matches in self.by_effect.items():
            named = [match for match in matches if match.named]
            if named and self.holds(effect) and not self.blocked(effect):
                out.extend(named)
        out.sort(key=lambda match: match.entry.rank)
        return out

    def blocked(self, effect: str) -> bool:
        """Whether anything blocks this effect as things stand."""
        return next(self.blocking(effect), None) is not None

    def blocking(self, effect: str) -> Iterator[str]:
        """The effects that block this one: not held, and reserved, or riskier where no shape of this one is strictly within."""
        mine = self.by_effect[effect]
        for other, matches in self.by_effect.items():
            if other != effect and not self.holds(other) and any(self._blocks(match, mine) for match in matches):
                yield other

    def _blocks(self, other: Match, mine: Sequence[Match]) -> bool:
        if other.effect.reserved:
            return True
        return other.effect.risk > mine[0].effect.risk and not self._excused(other, mine)

    def _excused(self, other: Match, mine: Sequence[Match]) -> bool:
        """Whether on each reading that `other` matches, a shape of ours matches too and is strictly contained in it.

        Folded letters help a blocker only: our shape must match the letters that the request has (ADR 0013).
        """
        if other.shape.vouch and any(match.named and not match.shape.vouch for match in mine):
            return True
        inner = [m for m in mine if m.sure and m.conditions and strictly_contained(m.shape, other.shape)]
        if self._facts.readings.linear:
            return any(match.named for match in inner)
        return bool(inner) and not self._facts.readings.escapes(other.shape.path, [m.shape.path for m in inner])


def _covers(match: Match, entries: Sequence[GrantEntry]) -> bool:
    """Whether one entry covers every value, or several share the combinations of values between them."""
    values = match.values()
    if any(all(_holds(match, entry, name, values.get(name, ())) for name in entry.where) for entry in entries):
        return True
    if len(entries) == 1:
        return False
    together = match.combinations()
    return together is not None and all(
        any(all(name in bound and _holds(match, e, name, (bound[name],)) for name in e.where) for e in entries)
        for bound in together
    )


def _holds(match: Match, entry: GrantEntry, name: str, values: Collection[str]) -> bool:
    """Whether the entry's scope of this parameter has them all; none means that the parameter is not bound."""
    fold = match.shape.fold or name in match.shape.ignore_case
    return bool(values) and all(any(scope.covers(value, fold) for scope in entry.where[name]) for value in values)


def most_specific(admitting: Sequence[Match]) -> Match:
    """Rule 3: containers of another admitting shape drop out; the rest are ranked."""
    for match in admitting:
        if not any(strictly_contained(other.shape, match.shape) for other in admitting if other is not match):
            return match
    return admitting[0]
