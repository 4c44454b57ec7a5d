"""What takes the place of a hook that failed: a refusal where one can still be given, else a closed connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mitmproxy.connection import Client

from effectgate.proxy import reply
from effectgate.proxy.flow import AgentFlow
from effectgate.proxy.session import Sessions

# Flow hooks after which the stream looks at `stop` before it does anything else (stream.py, check_killed).
_LOOKED_AT = frozenset({"requestheaders", "effectgate_decide", "effectgate_slow", "responseheaders", "response"})
# Hooks after which nothing more is sent.
_LAST = frozenset(
    {"client_disconnected", "server_disconnected", "server_connect_error", "http_connect_error", "effectgate_closed"}
)


class Faults:
    """A FaultRefusal over all hooks; any hook it does not know closes the connection. `note` leaves the receipt."""

    def __init__(self, sessions: Sessions, note: Callable[[AgentFlow, str], None]) -> None:
        self._sessions = sessions
        self._note = note

    def __call__(self, hook: str, data: Any, reason: str, /) -> bool:
        """See FaultRefusal."""
        if isinstance(data, AgentFlow) and self._flow(hook, data, reason):
            return True
        if hook == "server_connect":
            data.server.error = reason
        elif hook == "client_connected":
            data.error = reason
        elif hook == "effectgate_malformed":
            data.response = reply.fault(reason)
        elif hook not in _LAST:
            self._sessions.disconnect(_client(data))
            return False
        return True

    def _flow(self, hook: str, flow: AgentFlow, reason: str) -> bool:
        self._note(flow, reason)
        if hook == "http_connect":
            flow.response = reply.fault(reason)
            return True
        flow.stop = reply.fault(reason, flow.user_agent)
        # A body that streams is past the last point where `request` is looked at.
        return hook in _LOOKED_AT or (hook == "request" and not flow.request.stream)


def _client(data: Any) -> Client:
    for path in (("client",), ("client_conn",), ("context", "client")):
        found: Any = data
        for name in path:
            found = getattr(found, name, None)
        if isinstance(found, Client):
            return found
    raise LookupError(f"{type(data).__name__} names no client")
