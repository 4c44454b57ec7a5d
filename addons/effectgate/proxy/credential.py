"""The credential that a request to the proxy bears (RFC 9110 section 11.7.1)."""

from __future__ import annotations

from mitmproxy import http


def credential_of(request: http.Request) -> str:
    """The Proxy-Authorization value; empty if there is none, or if there are several."""
    values = request.headers.get_all("proxy-authorization")
    return values[0] if len(values) == 1 else ""
