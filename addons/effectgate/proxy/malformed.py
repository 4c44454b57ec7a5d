"""What a client sent instead of a request, put before the gate.

Where mitmproxy answers by itself, without a hook, the readers of wire.py and wire_http2.py ask with this one: the refusal is counted,
receipted where the connection has a principal, and worded like every other.
"""

from __future__ import annotations

from dataclasses import dataclass

from mitmproxy import http
from mitmproxy.connection import Client
from mitmproxy.proxy.commands import StartHook

HEADER_BYTES = 64 * 1024


@dataclass(eq=False)
class Malformed:
    """A request head that could not become a request. `response` is what the gate makes of it."""

    client: Client
    status: int
    reason: str
    response: http.Response | None = None


@dataclass
class EffectgateMalformedHook(StartHook):
    """Asks the gate what to answer to a head that is no request."""

    data: Malformed
