"""From a pydantic model and a document to a value, or to faults with key, line and remedy."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from effectgate.policy.document import Document, KeyPath, key_text
from effectgate.policy.fault import Fault, PatternError

# What pydantic calls a wrong type -> (what was wanted, how to write it).
_TYPES: Mapping[str, tuple[str, str]] = {
    "string_type": ("text", "put it in quotes"),
    "int_type": ("a whole number", "write digits, without quotes"),
    "int_parsing": ("a whole number", "write digits, without quotes"),
    "bool_type": ("true or false", "write true or false, without quotes"),
    "list_type": ("a list", "put it in brackets"),
    "dict_type": ("a table", "write it as `key = value` pairs"),
    "model_type": ("a table", "write it as `key = value` pairs"),
    "model_attributes_type": ("a table", "write it as `key = value` pairs"),
    "datetime_type": ("a time", "write it as 2027-01-31T00:00:00Z"),
}


class Table(BaseModel):
    """A table of a file that a person writes: unknown keys refused, no value converted to another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


def listed(value: object) -> object:
    """A lone value as a list of one, for keys that take a name or a list of names."""
    return value if isinstance(value, list) else [value]


def near(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, or the empty text."""
    found = difflib.get_close_matches(word, list(known), n=1)
    return found[0] if found else ""


def read_table[T: Table](
    model: type[T], document: Document, table: object, path: KeyPath = (), *, retry: bool = True
) -> tuple[T | None, list[Fault]]:
    """The table as a value, and its faults. With `retry`, keys at fault are left out in a second try."""
    try:
        return model.model_validate(table), []
    except ValidationError as error:
        details = error.errors(include_url=False)
    faults = [_fault(document, model, table, path, detail) for detail in details]
    keys = {str(detail["loc"][0]) for detail in details if detail["loc"]} if retry else set()
    return _without(model, table, keys), faults


def _without[T: Table](model: type[T], table: object, keys: set[str]) -> T | None:
    if not isinstance(table, dict) or not keys:
        return None
    try:
        return model.model_validate({key: value for key, value in table.items() if key not in keys})
    except ValidationError:
        return None


def _fault(document: Document, model: type[Table], table: object, path: KeyPath, detail: ErrorDetails) -> Fault:
    loc = tuple(part for part in detail["loc"] if part != "[key]")
    message, fix = _words(model, loc, detail)
    kept = loc if detail["type"] == "missing" else _existing(table, loc)
    return document.fault((*path, *kept), message, fix)


def _existing(value: object, loc: KeyPath) -> KeyPath:
    """The part of a location that the file really has: pydantic counts inside a lone value made a list."""
    for depth, part in enumerate(loc):
        inside = part in value if isinstance(value, dict) else isinstance(part, int) and isinstance(value, list)
        if not inside:
            return loc[:depth]
        value = cast(dict[str | int, object], value)[part]
    return loc


def _words(model: type[Table], loc: KeyPath, detail: ErrorDetails) -> tuple[str, str]:
    kind, context, given = detail["type"], detail.get("ctx", {}), detail["input"]
    cause = context.get("error")
    if isinstance(cause, PatternError):
        return cause.message, cause.fix
    if kind == "extra_forbidden":
        return _unknown_key(str(loc[-1]), keys_at(model, loc[:-1]))
    if kind == "missing":
        return f"the key {loc[-1]} is missing", f"add the key {loc[-1]}"
    if kind == "literal_error":
        return _not_one_of(given, context["expected"])
    if kind in _TYPES:
        wanted, how = _TYPES[kind]
        return f"{_short(given)} is not {wanted}", how
    return f"{_short(given)} cannot be accepted: {detail['msg']}", "correct the value"


def _unknown_key(key: str, known: tuple[str, ...]) -> tuple[str, str]:
    meant = near(key, known)
    return (
        f"unknown key {key_text((key,))}",
        f"write {meant}" if meant else f"remove it; the keys here are {', '.join(known)}",
    )


def _not_one_of(given: object, expected: str) -> tuple[str, str]:
    words = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
    meant = near(str(given), words)
    return (
        f"{_short(given)} is not one of the words here",
        f"write {meant!r}" if meant else f"write one of {', '.join(words)}",
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def keys_at(model: type[BaseModel], loc: KeyPath) -> tuple[str, ...]:
    """The keys that a table at this place below the model may have; empty where any key may stand."""
    place: object = model
    for part in loc:
        if isinstance(part, str) and isinstance(place, type) and issubclass(place, BaseModel):
            place = _model_in(_fields(place)[part].annotation)
    return tuple(_fields(place)) if isinstance(place, type) and issubclass(place, BaseModel) else ()


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_in(annotation: Any) -> object:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in typing.get_args(annotation) if (found := _model_in(part))), None)
