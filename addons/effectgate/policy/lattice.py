"""The lattice of authority: thirteen operations of three levels, met pointwise (design.md 2, Lowering and ceilings)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from effectgate.policy.effect import Effect
from effectgate.policy.vocabulary import OPERATIONS, RISKS, Level, Risk

_PLACE = {operation: place for place, operation in enumerate(OPERATIONS)}
_ID_PATTERN = re.compile(r"[a-z0-9*-]+/[a-z0-9*-]+")


@dataclass(frozen=True, slots=True)
class Profile:
    """A point of the lattice: `levels[i]` is the level of `OPERATIONS[i]`."""

    levels: tuple[Level, ...] = (Level.NEVER,) * len(OPERATIONS)

    @classmethod
    def of(cls, levels: Mapping[str, Level]) -> Profile:
        """The profile with these levels; operations that are not named stay `never`."""
        return cls(tuple(levels.get(operation, Level.NEVER) for operation in OPERATIONS))

    def level(self, operation: str) -> Level:
        """The level of one of the thirteen operations."""
        return self.levels[_PLACE[operation]]

    def meet(self, other: Profile) -> Profile:
        """The greatest profile within both."""
        return Profile(tuple(map(min, self.levels, other.levels)))

    def join(self, other: Profile) -> Profile:
        """The least profile that holds both: what several effects of one grant raise together."""
        return Profile(tuple(map(max, self.levels, other.levels)))

    def within(self, other: Profile) -> bool:
        """Whether no operation is above the other's."""
        return self.meet(other) == self

    def words(self) -> dict[str, str]:
        """Operation -> level word, without those at `never`."""
        pairs = zip(OPERATIONS, self.levels, strict=True)
        return {operation: level.word for operation, level in pairs if level is not Level.NEVER}


BOTTOM = Profile()
TOP = Profile((Level.ALWAYS,) * len(OPERATIONS))


def raised(effect: Effect) -> Profile:
    """What one effect asks for: each operation that it lists, at its level."""
    return Profile.of(dict.fromkeys(effect.operations, effect.level))


def is_id_pattern(text: str) -> bool:
    """Whether the text is an effect id in which `*` may stand for any run within its half, such as ``github/*``."""
    return _ID_PATTERN.fullmatch(text) is not None


def id_matches(pattern: str, effect: str) -> bool:
    """Whether an id pattern covers an effect id; `*` does not cross the `/`."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", "[a-z0-9-]*"), effect) is not None


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that a grant may ever hold. `packs`, `effects` and `sinks` as None stand for all."""

    name: str
    title: str
    max_risk: Risk
    profile: Profile
    packs: frozenset[str] | None = None
    effects: tuple[str, ...] | None = None
    not_effects: tuple[str, ...] = ()
    sinks: frozenset[str] | None = None

    def admits(self, effect: Effect) -> str:
        """The empty text where the effect fits, else the sentence that says why it is clipped."""
        return self._names(effect) or self._risk(effect) or self._sinks(effect) or self._operations(effect)

    def lower(self, effect: Effect) -> Profile:
        """What is left of an effect under this ceiling; only an admitted one keeps every operation above `never`."""
        return raised(effect).meet(self.profile)

    def _names(self, effect: Effect) -> str:
        if self.packs is not None and effect.pack not in self.packs:
            return f"the ceiling {self.name} does not list the pack {effect.pack}"
        if any(id_matches(pattern, effect.id) for pattern in self.not_effects):
            return f"the ceiling {self.name} excludes it by name"
        if self.effects is not None and not any(id_matches(pattern, effect.id) for pattern in self.effects):
            return f"the ceiling {self.name} does not list it"
        return ""

    def _risk(self, effect: Effect) -> str:
        if effect.risk <= self.max_risk:
            return ""
        return f"its risk {effect.risk.word} is above {self.max_risk.word}, the most of the ceiling {self.name}"

    def _sinks(self, effect: Effect) -> str:
        outside = [] if self.sinks is None else [sink for sink in effect.sinks if sink not in self.sinks]
        return f"the ceiling {self.name} does not permit the sink {outside[0]}" if outside else ""

    def _operations(self, effect: Effect) -> str:
        if effect.level is Level.NEVER:
            return "its own level is never"
        refused = [name for name in effect.operations if self.profile.level(name) is Level.NEVER]
        return f"the ceiling {self.name} holds the operation {refused[0]} at never" if refused else ""


# For `explain --effects`: what the ids would admit by themselves.
OPEN = Ceiling("none", "No ceiling", max(RISKS.values()), TOP)
