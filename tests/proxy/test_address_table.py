"""Addresses by table, and laws: what embeds a forbidden address is forbidden, and nothing passes that Python's registries know as special."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effectgate.proxy.address import FORBIDDEN, INSIDE, METADATA, AddressPolicy, exemption, vet, vet_all

TABLE = Path(__file__).parents[1] / "data" / "names" / "addresses.tsv"
NOBODY = AddressPolicy()
# Forbidden IPv4 networks, and for each mechanism how an address stands in IPv6 beside other bits of any kind.
FORBIDDEN_IPV4 = [ip_network(text) for _, texts in FORBIDDEN for text in texts if ":" not in text]
EMBEDDINGS: dict[str, Callable[[int, int], int]] = {
    "mapped": lambda inner, rest: 0xFFFF << 32 | inner,
    "compatible": lambda inner, rest: inner,
    "translated": lambda inner, rest: 0xFFFF << 48 | inner,
    "NAT64": lambda inner, rest: 0x64FF9B << 96 | inner,
    "local NAT64": lambda inner, rest: 0x64FF9B0001 << 80 | (rest & (1 << 48) - 1) << 32 | inner,
    "6to4": lambda inner, rest: 0x2002 << 112 | inner << 80 | rest & (1 << 80) - 1,
    "Teredo client": lambda inner, rest: 0x20010000 << 96 | (rest & (1 << 64) - 1) << 32 | inner ^ 0xFFFFFFFF,
    "Teredo server": lambda inner, rest: 0x20010000 << 96 | inner << 64 | rest & (1 << 64) - 1,
    "ISATAP": lambda inner, rest: 1 << 125 | (rest & (1 << 61) - 1) << 64 | 0x5EFE << 32 | inner,
    "ISATAP, global": lambda inner, rest: 1 << 125 | (rest & (1 << 61) - 1) << 64 | 0x02005EFE << 32 | inner,
}
inside_forbidden = st.sampled_from(FORBIDDEN_IPV4).flatmap(
    lambda network: st.integers(int(network[0]), int(network[-1]))
)
anywhere = st.one_of(
    st.integers(0, 2**32 - 1).map(IPv4Address),
    st.integers(0, 2**128 - 1).map(IPv6Address),
    st.builds(lambda low: IPv6Address(1 << 125 | low), st.integers(0, 2**125 - 1)),
    st.builds(
        lambda how, inner, rest: IPv6Address(how(inner, rest)),
        st.sampled_from([*EMBEDDINGS.values()]), st.integers(0, 2**32 - 1), st.integers(0, 2**128 - 1),
    ),
)  # fmt: skip


def rows() -> Iterator[tuple[str, str]]:
    """Address and answer of each row."""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            address, answer, _ = line.split("\t")
            yield (str(ast.literal_eval(address)) if address.startswith("'") else address), answer


ROWS = dict(rows())


def test_the_table_is_large_enough_and_has_neighbours_that_pass() -> None:
    assert len(ROWS) >= 250
    assert sum(answer == "dialled" for answer in ROWS.values()) >= 50


@pytest.mark.parametrize("text", ROWS)
def test_row(text: str) -> None:
    assert vet(text, 443, NOBODY) == ("" if ROWS[text] == "dialled" else ROWS[text])


def test_every_forbidden_network_has_its_edges_in_the_table() -> None:
    listed = {ip_address(text) for text, answer in ROWS.items() if answer != "not an address"}
    for _, texts in FORBIDDEN:
        for network in map(ip_network, texts):
            assert {network[0], network[-1]} <= listed, network


@given(inside_forbidden, st.integers(0, 2**128 - 1), st.sampled_from([*EMBEDDINGS]))
def test_what_embeds_a_forbidden_address_is_refused(inner: int, rest: int, how: str) -> None:
    assert vet(str(IPv6Address(EMBEDDINGS[how](inner, rest))), 443, NOBODY)


# Where Python's registries say "global" and we refuse all the same: deprecated or for protocols only (docs/adr/0037).
STRICTER = tuple(
    ip_network(text)
    for text in (
        "168.63.129.16/32", "192.0.0.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24", "224.0.0.0/4",
        "::/3", "2001::/23", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "4000::/2", "8000::/1",
    )
)  # fmt: skip


def _global(address: IPv4Address | IPv6Address) -> bool:
    # Python 3.12 calls every mapped address private.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_global


@given(anywhere)
def test_we_refuse_whatever_python_does_not_call_global(address: IPv4Address | IPv6Address) -> None:
    refused = bool(vet(str(address), 443, NOBODY))
    if not _global(address):
        assert refused
    elif refused:
        isatap = isinstance(address, IPv6Address) and int(address) >> 32 & 0xFDFFFFFF == 0x5EFE
        assert isatap or any(address in network for network in STRICTER)


@given(anywhere)
def test_one_refusal_among_answers_refuses_them_all(address: IPv4Address | IPv6Address) -> None:
    alone = vet(str(address), 443, NOBODY)
    assert vet_all(["8.8.8.8", str(address), "1.1.1.1"], 443, NOBODY) == ((str(address), alone) if alone else None)


@given(anywhere)
def test_an_exemption_is_told_exactly_where_it_was_needed(address: IPv4Address | IPv6Address) -> None:
    everything = AddressPolicy(allow_private=(ip_network("0.0.0.0/0"), ip_network("::/0")))
    kind = vet(str(address), 443, NOBODY)
    metadata = kind.startswith(METADATA)
    assert exemption(str(address), everything) == ("network.allow_private" if kind and not metadata else "")
    assert exemption(str(address), NOBODY, private=True) == ("sites" if kind in INSIDE else "")
    assert bool(vet(str(address), 443, everything)) == metadata


@pytest.mark.parametrize("text", [text for text, answer in ROWS.items() if answer == METADATA])
def test_metadata_is_opened_by_its_own_address_only(text: str) -> None:
    exactly = AddressPolicy(allow_private=(ip_network(text),))
    broadly = AddressPolicy(allow_private=(ip_network(text).supernet(new_prefix=8),))
    assert vet(text, 80, exactly) == ""
    assert vet(text, 80, broadly) == vet(text, 80, NOBODY, private=True) == METADATA


OURS = AddressPolicy(
    allow_private=(ip_network("0.0.0.0/0"), ip_network("::/0")),
    own=frozenset({("127.0.0.1", 8080), ("10.0.0.5", 9464)}),
    is_local=lambda text: text in ("127.0.0.1", "127.0.0.2", "0.0.0.0", "::", "::1", "10.0.0.5", "192.0.2.9"),
)


@pytest.mark.parametrize(
    "text",
    ["127.0.0.1", "127.0.0.2", "0.0.0.0", "::", "::1", "10.0.0.5", "192.0.2.9", "::ffff:127.0.0.1", "::ffff:127.0.0.2", "::127.0.0.1",
     "64:ff9b::127.0.0.1", "2002:7f00:1::", "::ffff:10.0.0.5", "2600:4700::5efe:7f00:1"],
)  # fmt: skip
def test_our_own_ports_are_refused_under_every_address_of_this_machine(text: str) -> None:
    assert "Effectgate" in vet(text, 8080, OURS, private=True)
    assert "Effectgate" in vet(text, 9464, OURS, private=True)
    assert vet(text, 8081, OURS) == ""


def test_the_same_port_elsewhere_is_not_ours() -> None:
    assert [vet(text, 8080, OURS) for text in ("8.8.8.8", "10.0.0.6", "2606:4700::1111")] == ["", "", ""]
