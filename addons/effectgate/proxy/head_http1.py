"""An HTTP/1 request head as bytes: what is wrong with it, and the request that it is."""

from __future__ import annotations

import re

from mitmproxy import http
from mitmproxy.net.http import http1

from effectgate.proxy.malformed import HEADER_BYTES

# RFC 9112 section 2.2 and RFC 9110 section 5.5: a bare CR, a bare LF, NUL and other controls end or split a line for some
# recipients and not for others; a folded line (RFC 9112 section 5.2) likewise.
_AMBIGUOUS = re.compile(
    rb"(?P<lf>(?<!\r)\n)|(?P<cr>\r(?!\n))|(?P<control>[\x00-\x08\x0b\x0c\x0e-\x1f\x7f])|(?P<fold>\r\n[ \t])"
)
_WHAT = {
    "lf": "a line end without CR",
    "cr": "a CR without LF",
    "control": "a control character",
    "fold": "a folded line",
}


# RFC 9112 section 3 lets a lenient recipient take any run of white space here; two of them then differ about the target.
_REQUEST_LINE = re.compile(rb"[^\x00-\x20\x7f]+ [^\x00-\x20\x7f]+ HTTP/[0-9]\.[0-9]")


_NAME = b"proxy-authorization"


class HeadError(ValueError):
    """The peer sent a head that is refused with `status`; the message is a sentence for it.

    `credential` is the Proxy-Authorization value of a head that could at least be cut into lines, else empty.
    """

    def __init__(self, status: int, reason: str, credential: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.credential = credential


def check_head(data: bytes) -> None:
    """Raise HeadError if this beginning of a request, which may be incomplete, cannot be read in one way only."""
    end = data.find(b"\r\n\r\n")
    head = data[: end + 4] if end >= 0 else data.rstrip(b"\r")
    if len(head) > HEADER_BYTES:
        raise HeadError(431, f"The request head is larger than {HEADER_BYTES} bytes.")
    if (ambiguous := _AMBIGUOUS.search(head)) is not None:
        raise HeadError(400, f"The request head has {_WHAT[str(ambiguous.lastgroup)]}.")


def parse_head(lines: list[bytes]) -> http.Request:
    """The request of a complete head; raises HeadError."""
    if not _REQUEST_LINE.fullmatch(lines[0]):
        fault = "The request line is not a method, a target and a version with one space between each."
        raise HeadError(400, fault, _credential(lines))
    try:
        request = http1.read_request_head(lines)
        http1.expected_http_body_size(request)
    except ValueError:
        raise HeadError(400, "The request head is not valid HTTP/1.1.", _credential(lines)) from None
    if request.data.http_version not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise HeadError(400, "The HTTP version is neither 1.1 nor 1.0.", _credential(lines))
    return request


def _credential(lines: list[bytes]) -> str:
    named = [value.strip() for name, _, value in (line.partition(b":") for line in lines[1:]) if name.lower() == _NAME]
    return named[0].decode("latin-1") if len(named) == 1 else ""
