"""Why an origin could not be reached, as kinds from a closed list: never text from the wire."""

from __future__ import annotations

from dataclasses import dataclass

_MARK = "effectgate:"

# What a person reads for each kind; `complete` and the metrics get the kind alone.
SENTENCES: dict[str, str] = {
    "address": "the destination is not an address that may be dialled",
    "resolve": "the host has no address",
    "timeout": "the origin did not answer in time",
    "connect": "the origin refused the connection or could not be reached",
    "tls": "the origin and the proxy could not agree on TLS",
    "certificate": "the origin's certificate could not be verified",
    "closed": "the origin closed the connection without a complete response",
    "response": "the origin's response was malformed",
    "upgrade": "the origin switched protocols, which this request may not do",
    "gate": "the connection was not admitted",
    "length": "its body was not as long as its Content-Length",
    "sender": "its body stopped, or came too slowly to be waited for",
    "reader": "its response was left unread for too long",
    "budget": "its body is larger than what is left of the grant's limit upload_bytes",
}

_WAIT = "try again; if it persists, the origin is down, or a person mends the proxy's way to it"
_VOUCH = "a person looks at the origin's TLS; a CA of its own goes under `network.upstream_ca` in effectgate.yaml"
# One thing that can be done now, by the agent where it can, else by the person it works for.
NEXT_STEPS: dict[str, str] = {
    "address": "use another host; only a person can open this address, under `network.allow_private` in effectgate.yaml",
    "resolve": "check the host's spelling; a person mends the proxy's DNS, or answers for the host under `network.resolve` in effectgate.yaml",
    "timeout": _WAIT,
    "connect": _WAIT,
    "tls": _VOUCH,
    "certificate": _VOUCH,
    "closed": _WAIT,
    "response": _WAIT,
    "upgrade": "ask without an upgrade; only an effect with a websocket shape lets one pass",
    "gate": "try again; if it persists, a person finds the cause with `effectgate doctor`",
    "length": "send the length that the body has, or none",
    "sender": "send the body without long pauses",
    "reader": "read responses as they come, or close the connection",
    "budget": "send less, or wait until the limit resets; a person can raise `limits:` in grants.yaml",
}


class DialError(OSError):
    """A connection that the guard or a timeout ended; `kind` is a key of SENTENCES."""

    def __init__(self, kind: str, detail: str) -> None:
        # mitmproxy keeps nothing of an exception but its text, so the kind travels in it.
        super().__init__(f"{_MARK}{kind}:{detail}")


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt to get a response; `detail` is ours, and may be empty."""

    kind: str
    detail: str = ""

    @property
    def sentence(self) -> str:
        """For the agent: what went wrong, without text from the origin."""
        return f"{SENTENCES[self.kind]} ({self.detail})" if self.detail else SENTENCES[self.kind]

    @property
    def next_step(self) -> str:
        """What can be done about it."""
        return NEXT_STEPS[self.kind]


# How mitmproxy 12.3.1's own messages begin (proxy/server.py, layers/tls.py, layers/http), tried in order.
_BEGINNINGS: tuple[tuple[str, str], ...] = (
    ("Connection killed", "gate"),
    ("Certificate verify failed", "certificate"),
    ("The remote server", "tls"),
    ("OpenSSL", "tls"),
    ("server closed connection", "closed"),
    ("connection closed", "closed"),
    ("stream reset", "closed"),
    ("HTTP/2 connection closed", "closed"),
    ("peer closed connection", "closed"),
    ("HTTP/2 protocol error", "response"),
    ("HTTP/1 protocol error", "response"),
    ("Cannot parse HTTP response", "response"),
    ("unexpected server response", "response"),
    ("Received ", "response"),
)
_SEVERAL = "Multiple exceptions: "


def classify(message: str) -> Failure:
    """The kind of a failure from mitmproxy's text for it; `connect` where nothing more is known."""
    marked = message.removeprefix(_SEVERAL)
    if marked.startswith(_MARK):
        kind, _, detail = marked.removeprefix(_MARK).partition(":")
        return Failure(kind, detail.partition(", ")[0]) if kind in SENTENCES else Failure("connect")
    return Failure(next((kind for beginning, kind in _BEGINNINGS if message.startswith(beginning)), "connect"))
