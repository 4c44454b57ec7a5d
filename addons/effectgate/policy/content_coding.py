"""Content codings of a request body (RFC 9110 section 8.4): decoded to be read, never to be forwarded."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

# wbits for zlib: a gzip member (RFC 1952), a zlib stream (RFC 1950). `br` and `zstd` are unreadable (ADR 0060).
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


def decoded(content: bytes, codings: Iterable[str], within: int) -> bytes | None:
    """The body without its coding, at most `within` bytes; None where it is larger, damaged, or coded in a way not known here."""
    named = [name for value in codings for part in value.split(",") if (name := part.strip().lower()) != "identity"]
    if not any(named):
        return content
    window = _WINDOWS.get(named[0]) if len(named) == 1 else None
    return None if window is None else _inflated(content, window, within)


def _inflated(content: bytes, window: int, within: int) -> bytes | None:
    stream = zlib.decompressobj(window)
    try:
        text = stream.decompress(content, within + 1)
    except zlib.error:
        return None
    # What follows the first member is another one to some servers and nothing to others.
    whole = stream.eof and not stream.unused_data and len(text) <= within
    return text if whole else None
