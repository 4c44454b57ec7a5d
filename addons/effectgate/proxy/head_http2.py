"""What is wrong with an HTTP/2 head, in our words: h2 finds it, and what it says repeats the client's bytes."""

from __future__ import annotations

from collections.abc import Sequence

from h2.exceptions import ProtocolError
from h2.utilities import HeaderValidationFlags, validate_headers
from mitmproxy.proxy.layers.http._http2 import parse_h2_request_headers

Fields = Sequence[tuple[bytes, bytes]]

_REQUEST = HeaderValidationFlags(is_client=False, is_trailer=False, is_response_header=False, is_push_promise=False)
_TRAILER = _REQUEST._replace(is_trailer=True)

# How the messages of h2 4.4.1 begin (h2/utilities.py), tried in order, and what they mean.
_BEGINNINGS: tuple[tuple[str, str], ...] = (
    ("Received uppercase", "a header name in upper case"),
    ("Received header name with zero", "a header without a name"),
    ("Received header value surrounded", "white space around a header's value"),
    ("Received duplicate pseudo-header", "a pseudo-header twice"),
    ("Received pseudo-header field out of sequence", "a pseudo-header after a header"),
    ("Received custom pseudo-header", "a pseudo-header that does not exist"),
    ("Received pseudo-header in trailer", "a pseudo-header among the trailers"),
    ("Encountered", "a pseudo-header that does not belong there"),
    ("Ordinary CONNECT", "a CONNECT with :scheme or :path"),
    ("Header block missing", "no :method, :scheme or :path"),
    ("An empty :path", "an empty :path"),
    ("Request header block has multiple", "several Host headers"),
    ("Request header block does not have", "neither :authority nor Host"),
    ("Request header block has mismatched", "a Host that differs from :authority"),
    ("Connection-specific", "a header that belongs to HTTP/1 connections"),
    ("Invalid value for TE", "a TE other than trailers"),
    ("Illegal character", "a character that no header may have"),
)
_OTHER = "something that no head may have"


def request_fault(fields: Fields) -> str:
    """A sentence about a request head that is malformed (RFC 9113 section 8), or the empty string."""
    if fault := _fault(fields, _REQUEST):
        return f"The HTTP/2 request head has {fault} (RFC 9113 section 8)."
    try:
        parse_h2_request_headers(fields)
    except ValueError:
        what = (
            "is a CONNECT, which no tunnel takes" if (b":method", b"CONNECT") in fields else "names no valid authority"
        )
        return f"The HTTP/2 request head {what}."
    return ""


def trailer_fault(fields: Fields) -> str:
    """A sentence about trailers that are malformed (RFC 9113 section 8.1), or the empty string."""
    fault = _fault(fields, _TRAILER)
    return f"The HTTP/2 trailers have {fault} (RFC 9113 section 8.1)." if fault else ""


def _fault(fields: Fields, flags: HeaderValidationFlags) -> str:
    try:
        for _ in validate_headers(fields, flags):
            pass
    except ProtocolError as error:
        return next((what for beginning, what in _BEGINNINGS if str(error).startswith(beginning)), _OTHER)
    return ""
