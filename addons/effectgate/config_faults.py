"""What pydantic refuses, as faults that name file, line, key and fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from effectgate.policy.fault import Fault
from effectgate.setting_values import KIND
from effectgate.yaml_document import Document, KeyPath

# By pydantic's error type: what is wrong, and what to write instead.
WORDS: dict[str, tuple[str, str]] = {
    "string_type": ("is not a text", "write a text, in quotes"),
    "int_type": ("is not a whole number", "write a whole number, without quotes"),
    "list_type": ("is not a list", "write a list, such as [a, b]"),
    "dict_type": ("is not a table", "write a table of KEY: VALUE lines"),
    "model_type": ("is not a table", "write a table of KEY: VALUE lines"),
    "missing": ("is missing", "add this key"),
    "too_short": ("is an empty list", "write at least one entry, or leave the key out"),
    "literal_error": ("is not one of the choices", "write {expected}"),
    "greater_than_equal": ("is not a port", "write a port from 1 to 65535"),
    "less_than_equal": ("is not a port", "write a port from 1 to 65535"),
    "string_pattern_mismatch": (
        "is not a name",
        "use lower-case letters, digits and inner hyphens (an effect is PACK/EFFECT)",
    ),
}


def faults_of(error: ValidationError, document: Document, model: type[BaseModel]) -> Iterator[Fault]:
    """Every error of a validation of `document` against `model`, as faults."""
    for detail in error.errors():
        yield _fault(detail, document, model)


def _fault(detail: ErrorDetails, document: Document, model: type[BaseModel]) -> Fault:
    path = tuple(step for step in detail["loc"] if step != "[key]")
    context = detail.get("ctx", {})
    if detail["type"] == KIND:
        return document.fault(path, context["message"], context["fix"])
    if detail["type"] == "extra_forbidden":
        return document.fault(path, "is not a key of this file", _nearest(path, model))
    message, fix = WORDS.get(detail["type"], (detail["msg"], "see docs/operations.md for what this key takes"))
    return document.fault(path, f"{_shown(detail)}{message}", fix.format(**context))


def _shown(detail: ErrorDetails) -> str:
    """The refused value, where it is a short scalar."""
    value = detail["input"]
    return f"{value!r} " if isinstance(value, str | int | float | bool) else ""


def _nearest(path: KeyPath, model: type[BaseModel]) -> str:
    """The fix for an unknown key: the nearest key of its table, or all of them."""
    for step in path[:-1]:
        model = _inner(model, step)
    near = difflib.get_close_matches(str(path[-1]), model.model_fields, n=1)
    return f"write {near[0]}" if near else f"remove it; the keys here are {', '.join(model.model_fields)}"


def _inner(model: type[BaseModel], step: str | int) -> type[BaseModel]:
    """The model behind a key of `model`, also where it is the item of a list."""
    field = model.model_fields.get(str(step))
    kinds = (field.annotation, *get_args(field.annotation)) if field else ()
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), model)
