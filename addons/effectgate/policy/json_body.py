"""JSON bodies: one value or none (RFC 8259), and what a JSON pointer (RFC 6901) finds in it."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from effectgate.policy.fault import PatternError


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A JSON value that every parser reads alike: no member given twice, UTF-8, nothing beyond RFC 8259."""

    value: object

    @property
    def batch(self) -> tuple[Document, ...]:
        """The calls that it carries: the items of an array with any, else itself (JSON-RPC 2.0 section 6)."""
        return tuple(Document(item) for item in self.value) if isinstance(self.value, list) and self.value else (self,)


_ESCAPED_NUL = b"\\u0000"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# What stands where a pointer cannot be followed any further, though something is there: never a string.
_BLOCKED = object()


def is_json(media_type: str) -> bool:
    """Whether a lower-case media type says JSON (RFC 6839 section 3.1; `application/x-amz-json-1.1` is AWS's)."""
    kind = media_type.removeprefix("application/")
    return kind == "json" or kind.startswith("x-amz-json-") or media_type.endswith("+json")


def read_json(content: bytes) -> Document | None:
    """The document, or None where two parsers could disagree about it."""
    if _ESCAPED_NUL in content:  # C strings end there
        return None
    try:
        value = json.loads(content.decode("utf-8"), object_pairs_hook=_members, parse_constant=_refuse)
        if _SURROGATE.search(content):  # half of a pair is no text, and each parser makes something else of it
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return Document(value)


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is given twice")
    return members


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


@functools.lru_cache(maxsize=4096)
def tokens(pointer: str) -> tuple[str, ...]:
    """The reference tokens of a pointer. Raises PatternError."""
    if not pointer.startswith("/"):
        raise PatternError(f"{pointer!r} is not a JSON pointer", f'begin with a slash, such as "/{pointer}"')
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))


def strings_at(document: Document, pointer: str, fold: bool) -> frozenset[str] | None:
    """Every string that the pointer finds; `fold` follows members in any letter case, as Go's decoder does.

    Empty where nothing is there (null is nothing); None where something is there that is not a string.
    """
    found = [document.value]
    for token in tokens(pointer):
        found = [inner for value in found for inner in _step(value, token, fold)]
    if not all(isinstance(value, str) for value in found):
        return None
    return frozenset(value for value in found if isinstance(value, str))


def _step(value: object, token: str, fold: bool) -> Iterator[object]:
    if isinstance(value, dict):
        members = _named(value, token, fold)
    elif isinstance(value, list) and token.isascii() and token.isdigit():
        members = iter(value[int(token) :][:1]) if len(token) < 6 else iter(())
    else:  # a server may yet find the member here, by another rule than ours
        members = iter(() if value is None else (_BLOCKED,))
    return (member for member in members if member is not None)


def _named(members: dict[str, object], token: str, fold: bool) -> Iterator[object]:
    if not fold:
        return iter((members[token],) if token in members else ())
    wanted = token.casefold()
    return (value for name, value in members.items() if name.casefold() == wanted)
