"""The request target: path and query as the client wrote them, and the path decoded once (design.md section 3; RFC 3986)."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

from effectgate.policy.authority import EnvelopeError
from effectgate.policy.field import refuse_method_field

# Longer paths are refused: common servers stop at 8 KiB, and every reading of a path is walked.
MAX_PATH = 8192
# Every `%2F` may be a slash or not, and the runs between them grow with the square of their number (see reading.py).
MAX_ENCODED_SLASHES = 32

_VISIBLE = re.compile(rb"[\x21-\x7e]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Looked for in the decoded text, so that `%25%32%65` is seen too, and in what decoding that again yields: `%25%2532e`.
_DOUBLE = re.compile(r"%(?:25)*(?:00|2[ef]|5c)", re.IGNORECASE)
_SEPARATOR = re.compile(r"[/\\]")
_CONTROL = re.compile(r"%(?:[01][0-9A-Fa-f]|7[Ff])")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_SLASH = re.compile("%2f", re.IGNORECASE)


def split_target(raw: bytes) -> tuple[str, str | None]:
    """Path and query of an origin-form target; the empty path is `/`. EnvelopeError for a fragment or a byte outside ASCII."""
    if not _VISIBLE.fullmatch(raw):
        raise EnvelopeError(
            "The request target has a space, a control character or a byte outside ASCII; percent-encode it."
        )
    text = raw.decode("ascii")
    if "#" in text:
        raise EnvelopeError("The request target has a fragment; a client keeps that to itself.")
    path, mark, query = text.partition("?")
    if path and not path.startswith("/"):
        raise EnvelopeError("The request target is not a path that begins with a slash.")
    return path or "/", query if mark else None


def decode_segments(path: str) -> tuple[str, ...]:
    """The segments of a path, percent-decoded once, `%2F` kept (upper case). EnvelopeError for what servers read in two ways."""
    if len(path) > MAX_PATH:
        raise EnvelopeError(f"The path is longer than {MAX_PATH} characters.")
    if "%" not in path and "\\" not in path and "/." not in path and ";" not in path:
        return tuple(path[1:].split("/"))
    _check_path(path)
    return tuple(_decode(segment) for segment in path[1:].split("/"))


def check_query(query: str | None) -> None:
    """EnvelopeError for a bad escape, an escaped NUL or a `_method` field in the query."""
    if not query:
        return
    if _BAD_ESCAPE.search(query):
        raise EnvelopeError("The query has a `%` that begins no escape; write `%25`.")
    if "%00" in query:
        raise EnvelopeError("The query has an escaped NUL.")
    refuse_method_field(query)


def _check_path(path: str) -> None:
    if "\\" in path or "%5c" in path.lower():
        raise EnvelopeError("The path has a backslash, plain or escaped.")
    if _BAD_ESCAPE.search(path):
        raise EnvelopeError("The path has a `%` that begins no escape; write `%25`.")
    if _CONTROL.search(path):
        raise EnvelopeError("The path has an escaped control character.")
    if len(_SLASH.findall(path)) > MAX_ENCODED_SLASHES:
        raise EnvelopeError(f"The path has more than {MAX_ENCODED_SLASHES} encoded slashes.")


def _decode(segment: str) -> str:
    return "%2F".join(_decode_piece(piece) for piece in _SLASH.split(segment))


def _decode_piece(piece: str) -> str:
    raw = _ESCAPE.sub(lambda m: bytes((int(m.group(1), 16),)), piece.encode("ascii"))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise EnvelopeError("The path has escaped bytes that are not UTF-8.") from None
    _refuse_hidden(text if text.isascii() else unicodedata.normalize("NFKC", text))
    return text


def _refuse_hidden(text: str) -> None:
    """EnvelopeError for what decoding again, or a server's compatibility forms (full-width `．`, `／`, `；`, `％`), would bring out."""
    if any(part.partition(";")[0] in (".", "..") for part in _SEPARATOR.split(text)):
        raise EnvelopeError("The path has a dot segment, plain or escaped.")
    while "%" in text:
        if _DOUBLE.search(text):
            raise EnvelopeError("The path has a doubly encoded slash, dot, backslash or NUL.")
        text, before = unquote(text), text
        if text == before:
            return
