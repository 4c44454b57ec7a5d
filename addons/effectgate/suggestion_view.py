"""A suggested grant as text for `grants.yaml` and as JSON (design.md sections 2, rule 6, and 6)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from effectgate.policy.suggestion import Suggested, Suggestion


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands above the effects: whose grant it would be, for which goal, and what led to it, a sentence a line."""

    agent: str
    goal: str = ""
    notes: tuple[str, ...] = ()


def grants_text(heading: Heading, suggestion: Suggestion) -> str:
    """A whole `grants.yaml`: everything a person needs to judge it stands in comments. JSON texts are YAML texts too."""
    return "\n".join([*_comments(heading, suggestion), *_agent(heading, suggestion), ""])


def _comments(heading: Heading, suggestion: Suggestion) -> Iterator[str]:
    yield from (f"# {_line(note)}" for note in heading.notes)
    if suggestion.left_out:
        yield "# Left out:"
        yield from (f"#   {_line(item.what)}: {_line(item.reason)}" for item in suggestion.left_out)


def _agent(heading: Heading, suggestion: Suggestion) -> Iterator[str]:
    yield "version: 1"
    yield "agents:"
    yield f"  - name: {json.dumps(heading.agent)}"
    yield f"    ceiling: {suggestion.ceiling.name}  # {_line(suggestion.ceiling.title)}"
    if heading.goal:
        yield f"    goal: {_quoted(heading.goal)}"
    yield "    effects:"
    yield from (f"      - {_flow(_entry(e))}  # {_remark(e)}" for e in suggestion.entries)


def _entry(entry: Suggested) -> dict[str, object]:
    where = _where(entry)
    return {"effect": entry.effect.id, **({"where": where} if where else {}), "sealed": entry.effect.digest}


def _where(entry: Suggested) -> dict[str, object]:
    return {name: _alone([value.facts() for value in values]) for name, values in sorted(entry.where.items())}


def _alone(values: Sequence[object]) -> object:
    return values[0] if len(values) == 1 else list(values)


def _flow(value: object) -> str:
    """YAML's flow style; keys are names, values are JSON texts."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_flow(held)}" for name, held in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _quoted(str(value))


def _quoted(text: str) -> str:
    """A text in double quotes, ASCII: what stands in it can neither end it nor confuse a terminal."""
    return json.dumps(text)


def _remark(entry: Suggested) -> str:
    effect = entry.effect
    reserved = ", reserved" if effect.reserved else ""
    return _line(f"{effect.title} ({effect.risk.word}{reserved}): {'; '.join(entry.reasons)}")


def _line(text: str) -> str:
    """Text that may come from a request, in one line that no terminal takes for a command."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def suggestion_json(heading: Heading, suggestion: Suggestion) -> dict[str, object]:
    """The same for programs, with the text itself under `grants_yaml`."""
    return {
        "agent": heading.agent,
        "goal": heading.goal,
        "notes": list(heading.notes),
        "ceiling": suggestion.ceiling.name,
        "effects": [
            {
                "effect": entry.effect.id,
                "title": entry.effect.title,
                "risk": entry.effect.risk.word,
                "where": _where(entry),
                "sealed": entry.effect.digest,
                "reasons": list(entry.reasons),
            }
            for entry in suggestion.entries
        ],
        "left_out": [{"what": item.what, "reason": item.reason} for item in suggestion.left_out],
        "grants_yaml": grants_text(heading, suggestion),
    }
