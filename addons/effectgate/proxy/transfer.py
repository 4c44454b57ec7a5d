"""What is taken off a message and put on it as it passes. Facts are read after this: policy sees what will be sent."""

from __future__ import annotations

from collections.abc import Iterable

from mitmproxy import http

# RFC 9110 section 7.6.1: a sender may nominate any field as hop-by-hop. Honouring that would let a client have a field
# removed that policy has matched on, so only these nominations survive.
_CONNECTION_TOKENS = (b"close", b"keep-alive", b"upgrade")


def strip_request(request: http.Request) -> None:
    """Remove what is meant for a proxy, what only we may say, and nominations of hop-by-hop fields."""
    kept = [(name, value) for name, value in request.headers.fields if not _ours(name.lower())]
    request.headers.fields = tuple(_connection(name, value) for name, value in kept if _keep(name, value))


def strip_response(response: http.Response, headers: Iterable[tuple[str, str]]) -> None:
    """Remove what an origin has no business saying through a proxy, and say what was decided."""
    kept = [
        field for field in response.headers.fields if not _ours(field[0].lower()) and field[0].lower() != b"alt-svc"
    ]
    response.headers.fields = (*kept, *((name.encode(), value.encode()) for name, value in headers))


def frame_request(request: http.Request, *, http2_origin: bool) -> None:
    """Frame a streamed body for its origin.

    mitmproxy 12.3.1 with h2 4.4.1 passes an HTTP/2 body without content-length to an HTTP/1 origin unframed, so that its
    end could be read as a second request that nobody decided on.
    """
    if http2_origin:
        request.headers.pop("transfer-encoding", None)
    elif "content-length" not in request.headers:
        request.headers["transfer-encoding"] = "chunked"


def header_bytes(request: http.Request) -> int:
    """The size of a request head as HTTP/1 would spell it."""
    return len(request.data.path) + sum(len(name) + len(value) + 4 for name, value in request.headers.fields)


def _ours(name: bytes) -> bool:
    return name.startswith((b"proxy-", b"x-effectgate-"))


def _keep(name: bytes, value: bytes) -> bool:
    # permessage-deflate would let a small frame unfold to any size here, where messages are held until they are whole.
    return name.lower() != b"sec-websocket-extensions" and (name.lower() != b"connection" or bool(_tokens(value)))


def _connection(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    return (name, b", ".join(_tokens(value))) if name.lower() == b"connection" else (name, value)


def _tokens(value: bytes) -> list[bytes]:
    return [token.strip() for token in value.split(b",") if token.strip().lower() in _CONNECTION_TOKENS]
