"""Hosts and ports of requests in one normal form (design.md section 3; RFC 3986 section 3.2; RFC 9112 section 3.2.3).

Everything that some parser reads otherwise is refused, not repaired: numeric spellings of addresses, user information, brackets
around names, more than one trailing dot.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

# Text, port: both ends of the host are checked after the split, so `[` here only keeps IPv6 colons out of the port.
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[1-9][0-9]{0,4}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")
MAX_HOST = 253


class EnvelopeError(ValueError):
    """The request is ambiguous or malformed: 400, ENVELOPE_INVALID. The message is one sentence for the agent."""


@dataclass(frozen=True, slots=True)
class Authority:
    """A host in normal form (lower-case, no trailing dot, IPv6 without brackets) and a port."""

    host: str
    port: int

    @property
    def is_address(self) -> bool:
        """Whether the host is an IP literal."""
        return is_address(self.host)


def is_address(host: str) -> bool:
    """Whether a host in normal form is an IP literal."""
    return ":" in host or host.rpartition(".")[2].isdigit()


def parse_authority(text: str, default_port: int | None) -> Authority:
    """Read `host`, `host:port` or `[v6]:port`. Without a port `default_port` holds; EnvelopeError where both are missing."""
    for reason, wrong in _OFFENCES:
        if wrong.search(text):
            raise EnvelopeError(f"The authority {_shown(text)} has {reason}.")
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        raise EnvelopeError(f"The authority {_shown(text)} is not host or host:port.")
    port = int(found["port"]) if found["port"] else default_port
    if port is None or not 0 < port < 65536:
        raise EnvelopeError(f"The authority {_shown(text)} has no port from 1 to 65535.")
    return Authority(parse_host(found["host"]), port)


# (what it is, where it shows): each is read as another host by some parser.
_OFFENCES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a character that is not ASCII", re.compile(r"[^\x00-\x7f]")),
    ("a control character or a space", re.compile(r"[\x00-\x20\x7f]")),
    ("user information", re.compile(r"@")),
    ("a backslash", re.compile(r"\\")),
    ("a percent-escape", re.compile(r"%")),
    ("a `/`, `?` or `#`", re.compile(r"[/?#]")),
)


def parse_host(text: str) -> str:
    """The normal form of a host: a DNS name, or an IP literal in its canonical spelling."""
    if text.startswith("["):
        return _ipv6(text)
    host = text.lower().removesuffix(".")
    if not host or len(host) > MAX_HOST:
        raise EnvelopeError(f"The host {_shown(text)} is empty or longer than {MAX_HOST} characters.")
    labels = host.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        return _ipv4(text, host)
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise EnvelopeError(f"The host {_shown(text)} has the label {_shown(label)}, which is no DNS label.")
    return host


def _ipv4(text: str, host: str) -> str:
    try:
        address = ipaddress.IPv4Address(host)
    except ValueError:
        raise EnvelopeError(f"The host {_shown(text)} is a number that is no canonical IPv4 address.") from None
    return str(address)


def _ipv6(text: str) -> str:
    try:
        return str(ipaddress.IPv6Address(text[1:-1]))
    except ValueError:
        raise EnvelopeError(f"The host {_shown(text)} is in brackets and no IPv6 address.") from None


def _shown(text: str) -> str:
    """At most 80 characters of hostile text, escaped, in quotes."""
    cut = text if len(text) <= 80 else text[:80] + "…"
    return (
        cut.encode("unicode_escape").decode("ascii").join("''")
        if not cut.isprintable() or not cut.isascii()
        else repr(cut)
    )
