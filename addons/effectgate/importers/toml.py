"""Drafted effects and examples as the TOML of a pack file, one shape a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from effectgate.importers.effects import DraftEffect, DraftShape
from effectgate.importers.examples import DraftExample
from effectgate.policy.pack_rules import PLAIN_METHODS


def effects_text(effects: Sequence[DraftEffect], because: str) -> str:
    """The `[[effect]]` tables. `because` is why a read may have a method that usually changes something."""
    return "\n".join(line for effect in effects for line in (*_effect(effect, because), ""))


def examples_text(examples: Sequence[DraftExample]) -> str:
    """The `[[example]]` tables."""
    return "\n".join(line for example in examples for line in (*_example(example), ""))


def _effect(effect: DraftEffect, because: str) -> Iterator[str]:
    yield "[[effect]]"
    yield f"id = {_text(effect.id)}"
    yield f"title = {_text(effect.title)}"
    yield f"risk = {_text(effect.grade.risk.word)}"
    if effect.grade.reserved:
        yield "reserved = true"
    yield ""
    yield "[effect.lowers]"
    yield 'operations = ["web_fetch"]'
    yield f"sinks = {_list(('http_egress', *effect.grade.sinks))}"
    yield f"hosts = {_list(effect.hosts)}"
    yield ""
    yield "[effect.matches]"
    yield "http = ["
    for shape in effect.shapes:
        plain = PLAIN_METHODS.get(effect.grade.risk)
        yield f"  {_shape(shape, '' if plain is None or plain.issuperset(shape.methods) else because)},"
    yield "]"


def _shape(shape: DraftShape, because: str) -> str:
    call = shape.call
    parts = [f"method = {_one_or_list(shape.methods)}", f"host = {_text(call.host)}", f"path = {_text(call.path)}"]
    tables: dict[str, list[str]] = {}
    for name, value in call.query:
        tables.setdefault("query", []).append(f"{_key(name)} = {_text(value)}")
    if call.carrier:
        tables.setdefault(call.carrier, []).append(f"{_key(call.name)} = {_one_or_list(shape.values)}")
    parts += [f"{name} = {{ {', '.join(rows)} }}" for name, rows in tables.items()]
    if call.absent:
        parts.append(f"absent = {_list(call.absent)}")
    if call.encoded_slash:
        parts.append("encoded_slash = true")
    if because:
        parts.append(f"because = {_text(because)}")
    return f"{{ {', '.join(parts)} }}"


def _example(example: DraftExample) -> Iterator[str]:
    yield "[[example]]"
    yield f"grant = {_list((example.grant,))}"
    yield f"request = {_text(example.request)}"
    if example.headers:
        yield f"headers = {{ {', '.join(f'{_key(name)} = {_text(value)}' for name, value in example.headers)} }}"
    if example.body:
        yield f"body = {_text(example.body)}"
    yield f"expect = {_text('allow' if example.allow else 'deny')}"
    yield f"effect = {_text(example.effect)}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else _text(name)


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _one_or_list(values: Sequence[str]) -> str:
    return _text(values[0]) if len(values) == 1 else _list(values)
