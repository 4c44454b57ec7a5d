"""Canonical JSON: RFC 8785 ordering and escapes, integers only (design.md section 5; the interoperable subset of canonical-json-v1)."""

from __future__ import annotations

import hashlib
import json
from json.encoder import encode_basestring
from typing import Final

# RFC 8785 section 3.2.2.3 renders numbers as IEEE 754 doubles; beyond this bound integers are not exact there.
MAX_SAFE_INTEGER: Final = 2**53 - 1

# A receipt nests four deep. The bound keeps a hostile file from exhausting the stack of a verifier.
MAX_DEPTH: Final = 32


class CanonicalError(ValueError):
    """A value or text that has no canonical form here. `kind` is `number`, `key`, `text`, `type`, `depth` or `syntax`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


# `json` sorts keys by code point, RFC 8785 by UTF-16 code unit. They agree on ASCII, so only other keys take the slow way.
_encode_ascii_keys = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False).encode


def canonical(value: object) -> bytes:
    """The canonical UTF-8 bytes of `value`: dict, list, tuple, str, int, bool or None. Raises CanonicalError."""
    text = _encode_ascii_keys(value) if _checked(value, MAX_DEPTH) else _encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise CanonicalError("text", "a string holds a lone surrogate, which UTF-8 cannot carry") from None


def text_of(value: str) -> str:
    """One string as canonical JSON text, for callers that join members themselves."""
    return encode_basestring(value)


def sha256(data: bytes) -> str:
    """`sha256:` and 64 hex digits, as argument, policy and output hashes are written."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def parse(data: bytes) -> object:
    """The value of JSON `data`; refuses duplicate keys, bad UTF-8 and every number but a safe integer. Raises CanonicalError."""
    try:
        text = data.decode()
        value = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_no_number, parse_constant=_no_number
        )
    except UnicodeDecodeError:
        raise CanonicalError("text", "the text is not UTF-8") from None
    except RecursionError:
        raise CanonicalError("depth", "the text nests too deep") from None
    except json.JSONDecodeError as fault:
        raise CanonicalError("syntax", f"the text is not JSON: {fault.msg} at character {fault.pos}") from None
    _checked(value, MAX_DEPTH)
    return value


def _checked(value: object, depth: int) -> bool:
    """Whether every key is ASCII. Raises CanonicalError where the value has no canonical form."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return _safe(value)  # type: ignore[arg-type]
    if not depth:
        raise CanonicalError("depth", f"a value nests deeper than {MAX_DEPTH}")
    if kind is dict:
        return _checked_members(value, depth - 1)  # type: ignore[arg-type]
    if kind is list or kind is tuple:
        return False not in [_checked(item, depth - 1) for item in value]  # type: ignore[attr-defined]
    raise CanonicalError("number" if kind is float else "type", f"{kind.__name__} has no canonical form")


def _checked_members(members: dict[object, object], depth: int) -> bool:
    plain = True
    for key, item in members.items():
        if type(key) is not str:
            raise CanonicalError("key", "the name of a member is not a string")
        plain = key.isascii() and plain
        if type(item) is not str:
            plain = _checked(item, depth) and plain
    return plain


def _safe(number: int) -> bool:
    if -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
        return True
    raise CanonicalError("number", f"{number} is outside the safe integers of RFC 8785")


def _encode(value: object) -> str:
    if isinstance(value, dict):
        keys = sorted(value, key=_utf16)
        return "{" + ",".join([f"{encode_basestring(key)}:{_encode(value[key])}" for key in keys]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join([_encode(item) for item in value]) + "]"
    return _encode_ascii_keys(value)


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise CanonicalError("key", "an object has two members of one name")
    return members


def _integer(literal: str) -> int:
    if literal == "-0" or len(literal) > 17:
        raise CanonicalError("number", f"the number {literal[:24]} is not a safe integer")
    return int(literal)


def _no_number(literal: str) -> object:
    raise CanonicalError("number", f"the number {literal[:24]} is not an integer")
