"""Content codings of a request body (RFC 9110 section 8.4): decoded to be read, never to be forwarded."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

# `br` and `zstd` are unreadable, and so is `deflate`: half of the servers take it for a zlib stream (RFC 1950), half for raw
# (RFC 1951), and one body can be both (ADR 0060).
_CODINGS = frozenset({"gzip", "x-gzip"})
_GZIP_MEMBER = 31  # wbits for zlib (RFC 1952)


def decoded(content: bytes, codings: Iterable[str], within: int) -> bytes | None:
    """The body without its coding, at most `within` bytes; None where it is larger, damaged, or coded in a way not known here."""
    named = [name for value in codings for part in value.split(",") if (name := part.strip().lower()) != "identity"]
    if not any(named):
        return content
    return _inflated(content, within) if len(named) == 1 and named[0] in _CODINGS else None


def _inflated(content: bytes, within: int) -> bytes | None:
    stream = zlib.decompressobj(_GZIP_MEMBER)
    try:
        text = stream.decompress(content, within + 1)
    except zlib.error:
        return None
    # What follows the first member is another one to some servers and nothing to others.
    whole = stream.eof and not stream.unused_data and len(text) <= within
    return text if whole else None
