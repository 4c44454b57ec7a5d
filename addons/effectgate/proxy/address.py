"""Which addresses may be dialled. PURE: the loop asks, nothing here resolves or connects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from effectgate.proxy.settings import Network

Address = IPv4Address | IPv6Address

# IANA special-purpose registries (RFC 6890 and its updates), and what clouds put beside them. Order: most telling name first.
FORBIDDEN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("a cloud metadata address", ("169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "168.63.129.16/32",
                                  "192.0.0.192/32", "fd00:ec2::254/128", "fd20:ce::254/128")),
    ("a loopback address", ("127.0.0.0/8", "::1/128")),
    ("a link-local address", ("169.254.0.0/16", "fe80::/10", "fec0::/10")),
    ("a private address", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")),
    ("a carrier-grade NAT address", ("100.64.0.0/10",)),
    ("a multicast address", ("224.0.0.0/4", "ff00::/8")),
    ("an unspecified or reserved address", ("0.0.0.0/8", "240.0.0.0/4", "::/128", "192.0.0.0/24", "100::/64", "5f00::/16")),
    ("a documentation or benchmark address", ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15",
                                              "2001:db8::/32", "3fff::/20", "2001:2::/48")),
    ("an anycast relay address", ("192.88.99.0/24", "192.175.48.0/24", "2001:20::/28", "2001:10::/28")),
)  # fmt: skip
_FORBIDDEN: tuple[tuple[str, tuple[Network, ...]], ...] = tuple(
    (name, tuple(ip_network(text) for text in texts)) for name, texts in FORBIDDEN
)

_MAPPED = ip_network("::ffff:0:0/96")
_COMPATIBLE = ip_network("::/96")
_TRANSLATED = ip_network("::ffff:0:0:0/96")  # RFC 2765
_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
_SIX_TO_FOUR = ip_network("2002::/16")
_TEREDO = ip_network("2001::/32")


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """`allow_private` is exempt from the table; `own` are (address, port) pairs of ours, which nothing exempts."""

    allow_private: tuple[Network, ...] = ()
    own: frozenset[tuple[str, int]] = frozenset()


def embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a transition mechanism would deliver to, or None (RFC 4291, 6052, 3056, 4380)."""
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        return IPv4Address((int(address) >> 80) & 0xFFFFFFFF)
    if address in _TEREDO:
        return IPv4Address(int(low) ^ 0xFFFFFFFF)
    if any(address in net for net in (_MAPPED, _COMPATIBLE, _TRANSLATED, *_NAT64)) and int(address) > 1:
        return low
    return None


def forbidden(address: Address) -> str:
    """What kind of address this is if nobody may be sent there, or the empty string."""
    for name, networks in _FORBIDDEN:
        if any(address in network for network in networks):
            return name
    inner = embedded(address) if isinstance(address, IPv6Address) else None
    return f"{kind} inside IPv6" if inner is not None and (kind := forbidden(inner)) else _local_nat64(address)


def _local_nat64(address: Address) -> str:
    # RFC 8215: this prefix may put the IPv4 address elsewhere than in the last 32 bits, so it cannot be vetted.
    return "a local NAT64 address" if address in _NAT64[1] else ""


def vet(text: str, port: int, policy: AddressPolicy, *, private: bool = False) -> str:
    """Why `text` (an IP literal) may not be dialled on `port`, or the empty string.

    `private` says that the endpoint's name is one of the operator's sites.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return "not an address"
    inner = embedded(address) if isinstance(address, IPv6Address) else None
    if {(str(address), port), (str(inner), port)} & policy.own:
        return "an address of Effectgate itself"
    if private or any(address in network for network in policy.allow_private):
        return ""
    return forbidden(address)


def vet_all(texts: Iterable[str], port: int, policy: AddressPolicy, *, private: bool = False) -> str:
    """The first refusal among all answers to one lookup: one bad answer refuses them all."""
    return next((why for text in texts if (why := vet(text, port, policy, private=private))), "")
