"""Whether what an origin begins with is a response head, and one that every recipient reads alike."""

from __future__ import annotations

import re

# As for requests; mitmproxy knows no limit.
RESPONSE_HEAD_BYTES = 64 * 1024

_STATUS_LINE = re.compile(rb"HTTP/1\.[01] [1-9][0-9]{2}[ \r\n]")
_SHORTEST = b"HTTP/1.1 200 "
# Where mitmproxy sees the end of a head. A line end without CR is read as one, and goes on as CR LF (RFC 9112 section 2.2).
_END = re.compile(rb"\n\r?\n")
# RFC 9110 section 5.5 and RFC 9112 sections 2.2 and 5.2: a proxy replaces these or answers 502.
_AMBIGUOUS = re.compile(rb"\r(?!\n)|\x00|\n[ \t]")
# 101 is no interim response: the connection changes hands.
_INTERIM = re.compile(rb"HTTP/1\.[01] 1(?!01)[0-9]{2}[ \r\n]")


def head_fault(data: bytes) -> str:
    """Why this beginning of a response, which may be incomplete, is refused; or the empty string."""
    if not _STATUS_LINE.match(data + _SHORTEST[len(data) :]):
        return "it does not begin with an HTTP/1 status line"
    end = _END.search(data)
    head = data[: end.end()] if end else data.rstrip(b"\r")
    if len(head) > RESPONSE_HEAD_BYTES:
        return "the head is too large"
    return "the head has a bare CR, a NUL or a folded line" if _AMBIGUOUS.search(head) else ""


def is_interim(data: bytes) -> bool:
    """Whether an interim response has begun (RFC 9110 section 15.2)."""
    return _INTERIM.match(data) is not None
