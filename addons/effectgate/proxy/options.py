"""mitmproxy's options as the gate needs them. Each unsafe value lets traffic past it, so each is asserted."""

from __future__ import annotations

from typing import Any

from mitmproxy.options import Options

# Option, the only value it may have, and what another value would do.
SAFE: tuple[tuple[str, Any, str], ...] = (
    ("connection_strategy", "lazy", "eager resolves, dials and greets the origin before the request is seen"),
    ("rawtcp", False, "raw tunnels carry bytes that no decision covers"),
    ("validate_inbound_headers", True, "malformed framing would reach origins"),
    ("ssl_insecure", False, "origins would not be verified"),
    ("ignore_hosts", [], "it tunnels hosts past every hook"),
    ("allow_hosts", [], "it tunnels all other hosts past every hook"),
    ("tcp_hosts", [], "it tunnels hosts past the HTTP hooks"),
    ("udp_hosts", [], "it tunnels hosts past the HTTP hooks"),
    ("stream_large_bodies", None, "it forwards a body before the refusal is looked at"),
    ("body_size_limit", None, "its 413 hides our answer"),
    ("store_streamed_bodies", False, "it keeps every streamed body in memory"),
    ("http2", True, "clients would be forced to HTTP/1"),
    ("http3", False, "there is no gate on QUIC"),
    ("websocket", True, "websockets could not be relayed as messages"),
    ("mode", ["regular"], "other modes reach origins without CONNECT"),
    ("upstream_cert", False, "it asks the origin for its certificate before the request is seen"),
    ("connect_addr", None, "it would bind connections elsewhere"),
    ("client_certs", None, "it would lend every agent a client certificate"),
)  # fmt: skip

# Set by addons that the embedded master does not load; asserted where they exist.
SAFE_IF_KNOWN: tuple[tuple[str, Any, str], ...] = (
    ("onboarding", False, "it serves its own pages on mitm.it"),
    ("proxyauth", None, "it removes the credential that the gate needs"),
    ("map_remote", [], "it sends requests elsewhere after the decision"),
    ("map_local", [], "it answers in the place of origins"),
    ("modify_headers", [], "it changes requests after the decision"),
    ("modify_body", [], "it changes requests after the decision"),
    ("client_replay", [], "it sends requests without a client"),
    ("server_replay", [], "it answers in the place of origins"),
)


def secure(options: Options) -> None:
    """Set every known option of the tables to its safe value. Raises mitmproxy's OptionsError."""
    options.update(**{name: value for name, value, _ in (*SAFE, *SAFE_IF_KNOWN) if name in options})


def unsafe(options: Options) -> str:
    """The first option that lets traffic past the gate, as a sentence, or the empty string."""
    for name, _, _ in SAFE:
        if name not in options:
            return f"mitmproxy option {name} is missing: this is not the version the gate was written for (12.3.1)"
    for name, value, why in (*SAFE, *SAFE_IF_KNOWN):
        if name in options and _plain(getattr(options, name)) != value:
            return f"mitmproxy option {name} must be {value!r}: {why}"
    return ""


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
