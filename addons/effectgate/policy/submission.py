"""Tool calls, command lines and file operations against a set of held effects (design.md section 2, "Recognition and admission").

The same rules as for requests: a held effect admits a part unless an effect that is not held names it too and is reserved, or is
riskier and not merely wider; every part must be admitted, and the riskiest answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from effectgate.policy.command import CommandPattern, Recognisers, Words, split_line
from effectgate.policy.effect import Effect, FileShape

Pattern = str | CommandPattern | FileShape


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """One pattern by which one effect names a part: a tool's name, a command, or a file operation."""

    effect: Effect
    pattern: Pattern

    def within(self, other: Claim) -> bool:
        """Whether the pattern covers strictly less than the other; names of tools only ever cover themselves."""
        mine, its = self.pattern, other.pattern
        if isinstance(mine, CommandPattern) and isinstance(its, CommandPattern):
            return mine.included(its) and not its.included(mine)
        if isinstance(mine, FileShape) and isinstance(its, FileShape):
            return mine.op == its.op and mine.path.included(its.path) and not its.path.included(mine.path)
        return False


Part = Sequence[Claim]


@dataclass(frozen=True, slots=True)
class Submission:
    """The parts of one submission, each with its claims; no parts means that it cannot be read as one plain act."""

    parts: tuple[Part, ...]

    def admitting(self, held: Collection[str]) -> Effect | None:
        """The effect that answers for the whole where every part is admitted, else None."""
        found = [_admitting(part, held) for part in self.parts]
        admitted = [effect for effect in found if effect is not None]
        if not found or len(admitted) < len(found):
            return None
        return max(admitted, key=lambda effect: effect.risk)

    def named(self) -> tuple[Effect, ...]:
        """The effects that name some part, each once, least risk first."""
        effects = {claim.effect.id: claim.effect for part in self.parts for claim in part}
        return tuple(sorted(effects.values(), key=lambda effect: (effect.risk, effect.id)))

    def would_admit(self, held: Collection[str]) -> tuple[Effect, ...]:
        """The effects that name a part which is not admitted as things stand."""
        refused = [part for part in self.parts if _admitting(part, held) is None]
        return Submission(tuple(refused)).named()


def _admitting(part: Part, held: Collection[str]) -> Effect | None:
    others = [claim for claim in part if claim.effect.id not in held]
    free = [
        claim for claim in part if claim.effect.id in held and not any(_blocks(other, claim, part) for other in others)
    ]
    narrow = [claim for claim in free if not any(other.within(claim) for other in free)]
    return min((claim.effect for claim in narrow), key=lambda effect: (effect.risk, effect.id), default=None)


def _blocks(other: Claim, claim: Claim, part: Part) -> bool:
    if other.effect.reserved:
        return True
    mine = [inner for inner in part if inner.effect is claim.effect]
    return other.effect.risk > claim.effect.risk and not any(inner.within(other) for inner in mine)


def tool_call(name: str, recognisers: Recognisers) -> Submission:
    """A call of an MCP tool."""
    return Submission((tuple(Claim(effect, name) for effect in recognisers.tool(name)),))


def command_line(line: str, recognisers: Recognisers) -> Submission:
    """A line for a shell; anything but one plain command or pipeline has no parts."""
    return commands(split_line(line), recognisers)


def commands(parts: Iterable[Words], recognisers: Recognisers) -> Submission:
    """Commands already split into words, one a part of a pipeline."""
    return Submission(
        tuple(tuple(Claim(effect, pattern) for pattern, effect in recognisers.command(words)) for words in parts)
    )


def file_operation(op: str, path: str, effects: Mapping[str, Effect]) -> Submission:
    """`read`, `write` or `delete` on an absolute path; one that is not in its plain form has no parts."""
    segments = tuple(path.split("/"))[1:]
    if not path.startswith("/") or {"", ".", ".."} & set(segments) or "\0" in path:
        return Submission(())
    claims = [
        Claim(effect, shape)
        for effect in effects.values()
        for shape in effect.files
        if shape.op == op and shape.path.match(segments) is not None
    ]
    return Submission((tuple(claims),))
