"""Which addresses may be dialled. PURE: the loop asks, nothing here resolves or connects. docs/adr/0037 tells the choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from effectgate.proxy.settings import Network

Address = IPv4Address | IPv6Address

METADATA = "a cloud metadata address"
# What may be behind a site of the operator's (`sites:`); metadata, link-local and the like never are.
INSIDE = frozenset({"a loopback address", "a private address", "a carrier-grade NAT address"})

# IANA special-purpose registries (RFC 6890 and its updates), and what clouds put beside them. Order: most telling name first.
FORBIDDEN: tuple[tuple[str, tuple[str, ...]], ...] = (
    (METADATA, ("169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "169.254.0.23/32", "169.254.42.42/32",
                "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
                "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128", "fd00:42::42/128", "fe80::a9fe:a9fe/128")),
    ("a loopback address", ("127.0.0.0/8", "::1/128")),
    ("a link-local address", ("169.254.0.0/16", "fe80::/10", "fec0::/10")),
    ("a private address", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")),
    ("a carrier-grade NAT address", ("100.64.0.0/10",)),
    ("a multicast address", ("224.0.0.0/4", "ff00::/8")),
    ("an unspecified or reserved address", ("0.0.0.0/8", "240.0.0.0/4", "::/128", "192.0.0.0/24", "100::/64", "100:0:0:1::/64",
                                            "5f00::/16")),
    ("a documentation or benchmark address", ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15",
                                              "2001:db8::/32", "3fff::/20", "2001:2::/48")),
    ("an anycast relay or sink address", ("192.88.99.0/24", "192.52.193.0/24", "192.31.196.0/24", "192.175.48.0/24",
                                          "2001:3::/32", "2001:4:112::/48", "2620:4f:8000::/48")),
)  # fmt: skip
_FORBIDDEN: tuple[tuple[str, tuple[Network, ...]], ...] = tuple(
    (name, tuple(ip_network(text) for text in texts)) for name, texts in FORBIDDEN
)

_MAPPED = ip_network("::ffff:0:0/96")
_NAT64 = ip_network("64:ff9b::/96")
_LOCAL_NAT64 = ip_network("64:ff9b:1::/48")
_SIX_TO_FOUR = ip_network("2002::/16")
_TEREDO = ip_network("2001::/32")
# Whose last 32 bits are an IPv4 address: RFC 4291 section 2.5.5 (compatible, mapped), RFC 2765, RFC 6052, RFC 8215.
_LAST_BITS = (ip_network("::/96"), _MAPPED, ip_network("::ffff:0:0:0/96"), _NAT64, _LOCAL_NAT64)
# RFC 5214 section 6.1: interface identifiers of ISATAP, without the universal/local bit.
_ISATAP = 0x00005EFE

# All that IANA gives out for use on the Internet (RFC 4291 section 2.4), and of it what is for protocols only (RFC 2928, 7526).
_GLOBAL_UNICAST = ip_network("2000::/3")
_PROTOCOLS = (ip_network("2001::/23"), _SIX_TO_FOUR)


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """`allow_private` is exempt from the table; `own` are (address, port) pairs of ours, which nothing exempts.

    `is_local` tells an address of this machine, at which a listener of ours may answer under another name.
    """

    allow_private: tuple[Network, ...] = ()
    own: frozenset[tuple[str, int]] = frozenset()
    is_local: Callable[[str], bool] = lambda text: False


def embedded(address: IPv6Address) -> Iterator[IPv4Address]:
    """Every IPv4 address that some transition mechanism would deliver to (RFC 3056, 4291, 4380, 5214, 6052)."""
    number = int(address)
    if address in _SIX_TO_FOUR:
        yield IPv4Address(number >> 80 & 0xFFFFFFFF)
    if address in _TEREDO:
        yield IPv4Address(number & 0xFFFFFFFF ^ 0xFFFFFFFF)
        yield IPv4Address(number >> 64 & 0xFFFFFFFF)  # the server that it is reached by
    if number >> 32 & 0xFDFFFFFF == _ISATAP or (number > 1 and any(address in network for network in _LAST_BITS)):
        yield IPv4Address(number & 0xFFFFFFFF)


def forbidden(address: Address) -> str:
    """What kind of address this is if nobody may be sent there, or the empty string."""
    for name, networks in _FORBIDDEN:
        if any(address in network for network in networks):
            return name
    return _forbidden_inside(address) if isinstance(address, IPv6Address) else ""


def _forbidden_inside(address: IPv6Address) -> str:
    for inner in embedded(address):
        if kind := forbidden(inner):
            return f"{kind} inside IPv6"
    if address in _LOCAL_NAT64:
        # RFC 8215: this prefix may put the IPv4 address elsewhere than in the last 32 bits, so it cannot be vetted.
        return "a local NAT64 address"
    if address in _MAPPED or address in _NAT64:
        return ""
    given_out = address in _GLOBAL_UNICAST and not any(address in network for network in _PROTOCOLS)
    return "" if given_out else "a protocol or unassigned address"


def vet(text: str, port: int, policy: AddressPolicy, *, private: bool = False) -> str:
    """Why `text` (an IP literal) may not be dialled on `port`, or the empty string.

    `private` says that the endpoint's name is one of the operator's sites.
    """
    address = _read(text)
    if address is None:
        return "not an address"
    if is_own(address, port, policy):
        return "an address of Effectgate itself"
    kind = forbidden(address)
    return "" if exemption(text, policy, private=private) else kind


def exemption(text: str, policy: AddressPolicy, *, private: bool = False) -> str:
    """The setting that lets an address be dialled which is forbidden otherwise: `network.allow_private`, `sites`, or nothing.

    Metadata addresses are only exempt where a network of one address names them: whoever allows 100.64.0.0/10 means no credentials.
    """
    address = _read(text)
    kind = forbidden(address) if address is not None else ""
    if address is None or not kind:
        return ""
    networks = [network for network in policy.allow_private if address in network]
    if any(not kind.startswith(METADATA) or network.num_addresses == 1 for network in networks):
        return "network.allow_private"
    return "sites" if private and kind in INSIDE else ""


def is_own(address: Address, port: int, policy: AddressPolicy) -> bool:
    """Whether one of our listeners answers there: at its own address, or on its port at any address of this machine."""
    inner = tuple(embedded(address)) if isinstance(address, IPv6Address) else ()
    names = [str(one) for one in (address, *inner)]
    if any((name, port) in policy.own for name in names):
        return True
    return any(port == ours for _, ours in policy.own) and any(map(policy.is_local, names))


def vet_all(texts: Iterable[str], port: int, policy: AddressPolicy, *, private: bool = False) -> tuple[str, str] | None:
    """The first refused address among all answers to one lookup, and why: one bad answer refuses them all."""
    judged = ((text, vet(text, port, policy, private=private)) for text in texts)
    return next(((text, why) for text, why in judged if why), None)


def _read(text: str) -> Address | None:
    # A zone (RFC 4007 section 11) chooses an interface of this machine: no name and no URL may do that.
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None
