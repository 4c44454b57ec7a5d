"""Names, as a real `serve` resolves them: what is asked, what is answered, what is dialled, and what the receipt says of it."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

import pytest

from live.ask import Request, plain, tls_1, tls_2
from live.wire import exchange, head
from names.conftest import AGENT, Named
from names.message import NXDOMAIN, Record
from names.nameserver import (
    Nameserver,
    Play,
    addresses,
    alias,
    by_kind,
    failing,
    forged,
    in_turn,
    records,
    silent,
    slow,
)

PUBLIC = "93.184.216.34"
HERE = "127.0.0.1"
THOUSAND = [f"93.184.{number >> 8}.{number & 255}" for number in range(1000)]


@dataclass(frozen=True, slots=True)
class Row:
    """A play, what the client gets (`failure` of the JSON, empty where it is served), and the address in the receipt."""

    play: Play
    failure: str
    address: str = ""

    @property
    def status(self) -> int:
        """Of the response."""
        return {"": 200, "address": 403}.get(self.failure, 502)


ROWS = {
    "plain": Row(addresses(HERE), "", HERE),
    "ttl-zero": Row(addresses(HERE, ttl=0), "", HERE),
    "alias": Row(alias("a.elsewhere.test", "b.elsewhere.test", to=[HERE]), "", HERE),
    "nul-in-alias": Row(alias("evil\0.names.test", to=[HERE]), "", HERE),
    "aaaa-fails": Row(by_kind(addresses(HERE), failing()), "", HERE),
    "aaaa-does-not-exist": Row(by_kind(addresses(HERE), failing(NXDOMAIN)), "", HERE),
    "aaaa-is-silent": Row(by_kind(addresses(HERE), silent), "", HERE),
    "slow": Row(slow(0.3, addresses(HERE)), "", HERE),
    "wrong-id-first": Row(forged(addresses(HERE), addresses("10.0.0.1")), "", HERE),
    "wrong-question-first": Row(forged(addresses(HERE), addresses("10.0.0.1"), id_too=False), "", HERE),
    "private": Row(addresses("10.0.0.1"), "address", "10.0.0.1"),
    "loopback": Row(addresses("127.0.0.2"), "address", "127.0.0.2"),
    "unspecified": Row(addresses("0.0.0.0"), "address", "0.0.0.0"),
    "metadata": Row(addresses("169.254.169.254"), "address", "169.254.169.254"),
    "cgnat": Row(addresses("100.64.0.1"), "address", "100.64.0.1"),
    "multicast": Row(addresses("224.0.0.251"), "address", "224.0.0.251"),
    "broadcast": Row(addresses("255.255.255.255"), "address", "255.255.255.255"),
    "ipv6-loopback": Row(addresses("::1"), "address", "::1"),
    "ipv6-link-local": Row(addresses("fe80::1"), "address", "fe80::1"),
    "ipv6-private": Row(addresses("fd00::1"), "address", "fd00::1"),
    "mapped": Row(addresses("::ffff:127.0.0.1"), "address", "::ffff:127.0.0.1"),
    "nat64": Row(addresses("64:ff9b::10.0.0.1"), "address", "64:ff9b::a00:1"),
    "6to4": Row(addresses("2002:a00:1::"), "address", "2002:a00:1::"),
    "teredo": Row(addresses("2001:0:4136:e378:8000:63bf:f5ff:fffe"), "address", "2001:0:4136:e378:8000:63bf:f5ff:fffe"),
    "public-and-private": Row(addresses(PUBLIC, "10.0.0.1"), "address", "10.0.0.1"),
    "private-and-public": Row(addresses("10.0.0.1", PUBLIC), "address", "10.0.0.1"),
    "allowed-and-not": Row(addresses(HERE, "127.0.0.2"), "address", "127.0.0.2"),
    "public-a-private-aaaa": Row(addresses(PUBLIC, "fd00::1"), "address", "fd00::1"),
    "private-a-public-aaaa": Row(addresses("10.0.0.1", "2606:4700::1111"), "address", "10.0.0.1"),
    "slow-private-aaaa": Row(by_kind(addresses(HERE), slow(0.3, addresses("fd00::1"))), "address", "fd00::1"),
    "alias-to-private": Row(alias("a.elsewhere.test", "b.elsewhere.test", to=["192.168.0.1"]), "address", "192.168.0.1"),
    "private-after-two-hundred": Row(addresses(*THOUSAND[:200], "10.0.0.1"), "address", "10.0.0.1"),
    "a-thousand": Row(addresses(HERE, *THOUSAND), "resolve"),
    "does-not-exist": Row(failing(NXDOMAIN), "resolve"),
    "server-fails": Row(failing(), "resolve"),
    "no-data": Row(addresses(), "resolve"),
    "alias-to-nothing": Row(alias("gone.elsewhere.test", to=[]), "resolve"),
    "alias-to-itself": Row(records(Record("b.test"), Record("c.test", owner="b.test"), Record("b.test", owner="c.test")), "resolve"),
    "other-owner": Row(records(Record(HERE, owner="elsewhere.test")), "resolve"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_row(scene: Named, name: str) -> None:
    row, host = ROWS[name], f"{name}.names.test"
    scene.dns.zone[host] = row.play
    dialled = scene.journal.accepts
    response = scene.get(host)
    assert (response.status, response.json.get("failure", "")) == (row.status, row.failure)
    assert scene.journal.accepts == dialled + (row.failure == "")
    output = scene.completion(response)
    assert (output["error"], output["address"], output["success"]) == (row.failure, row.address, not row.failure)
    assert output["exempt"] == ("network.allow_private" if row.address == HERE else "")
    assert {host} == {
        asked for asked in scene.dns.names() if asked.startswith(f"{name}.")
    }  # and no suffix of `search`, ever


def test_one_connection_is_one_lookup(scene: Named) -> None:
    scene.dns.zone["once.names.test"] = addresses(HERE)
    assert scene.get("once.names.test").status == 200
    assert (scene.dns.count("once.names.test", "A"), scene.dns.count("once.names.test", "AAAA")) == (1, 1)
    assert scene.dns.count("once.names.test") == 2


def test_a_cut_answer_is_asked_for_again_over_tcp(scene: Named) -> None:
    scene.dns.zone["large.names.test"] = addresses(*THOUSAND[:200], "10.0.0.1")
    assert scene.get("large.names.test").status == 403
    assert [one.kind for one in scene.dns.tcp_asked if one.name == "large.names.test"] == ["A"]


@pytest.mark.parametrize("ask", [plain, tls_1, tls_2])
def test_no_query_leaves_for_a_refused_host(scene: Named, ask: Any) -> None:
    scene.dns.zone["refused.test"] = addresses(HERE)
    scene.gate.hosts.write_text("127.0.0.1 localhost\n127.0.0.1 listed.test\n")
    asked, dialled = scene.dns.count(), scene.journal.accepts
    for host in ("refused.test", "listed.test"):
        url = f"{'http' if ask is plain else 'https'}://{host}:{scene.origin.port}/"
        assert ask(scene.gate.door(AGENT), Request("GET", url)).status == 403
    assert (scene.dns.count(), scene.journal.accepts) == (asked, dialled)


def test_a_kept_connection_stays_with_the_address_that_was_vetted(scene: Named) -> None:
    host = f"rebinding.names.test:{scene.origin.port}"
    scene.dns.zone["rebinding.names.test"] = in_turn(addresses(HERE, ttl=0), addresses("10.0.0.1", ttl=0))
    dialled = scene.journal.accepts
    with scene.gate.door(AGENT).dial() as wire:
        fields = [("Host", host), scene.gate.door(AGENT).authorization]
        answers = [exchange(wire, head("GET", f"http://{host}/x", fields)) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert [scene.completion(answer)["address"] for answer in answers] == [HERE] * 3
    assert (scene.dns.count("rebinding.names.test", "A"), scene.journal.accepts) == (1, dialled + 1)
    again = scene.get("rebinding.names.test")
    assert (again.status, again.json["failure"], scene.journal.accepts) == (403, "address", dialled + 1)
    assert scene.dns.count("rebinding.names.test", "A") == 2


def test_the_hosts_file_comes_first_and_is_read_again(scene: Named) -> None:
    scene.dns.zone["listed.names.test"] = addresses("10.0.0.1")
    scene.gate.hosts.write_text("127.0.0.1 localhost\n127.0.0.1 Listed.names.test. # as written\n")
    assert scene.get("listed.names.test").status == 200
    scene.gate.hosts.write_text("127.0.0.1 localhost\n10.9.8.7 listed.names.test\n")
    response = scene.get("listed.names.test")
    assert (response.status, scene.completion(response)["address"]) == (403, "10.9.8.7")
    assert scene.dns.count("listed.names.test") == 0


def test_one_bad_line_of_the_hosts_file_refuses_the_name(scene: Named) -> None:
    scene.gate.hosts.write_text("127.0.0.1 twice.names.test\n10.0.0.1 twice.names.test\n")
    assert scene.get("twice.names.test").json["failure"] == "address"


@pytest.mark.parametrize(
    ("host", "asked", "failure"),
    [
        ("names.invalid", [], "resolve"), ("names.onion", [], "resolve"), ("names.alt", [], "resolve"), ("names.localhost", [], "address"),
        ("names.local", ["names.local"], "resolve"), ("names.internal", ["names.internal"], "resolve"),
        ("xn--nmes-loa.test", ["xn--nmes-loa.test"], "resolve"), ("DOT.names.test.", ["dot.names.test"], "resolve"),
        ("169.254.169.254", [], "address"), ("10.0.0.1", [], "address"), ("127.0.0.9", [], "address"), ("0.0.0.0", [], "address"),
    ],
)  # fmt: skip
def test_every_kind_of_host_has_one_answer(scene: Named, host: str, asked: list[str], failure: str) -> None:
    before = len(scene.dns.asked)
    answers = [scene.get(host) for _ in range(2)]
    assert [answer.json["failure"] for answer in answers] == [failure, failure]
    assert {question.name for question in scene.dns.asked[before:]} == set(asked)


@pytest.mark.parametrize(
    "host", ["single", "127.1", "0x7f000001", "2130706433", "017700000001", "[::ffff:127.0.0.1]", "[fe80::1%25lo]", "[::1%lo]",
             "n\u00e4mes.test", "a..names.test", "dot.names.test..", "names.test%00.names.test", "127.0.0.1.nip.names.test@names.test"],
)  # fmt: skip
def test_nothing_is_asked_for_spellings_that_nobody_is_granted(scene: Named, host: str) -> None:
    asked, dialled = scene.dns.count(), scene.journal.accepts
    target = f"http://{host}:{scene.origin.port}/x".encode()
    authorization = ": ".join(scene.gate.door(AGENT).authorization).encode()
    with scene.gate.door(AGENT).dial() as wire:
        request = b"GET %s HTTP/1.1\r\nHost: %s:%d\r\n%s\r\n\r\n" % (
            target,
            host.encode(),
            scene.origin.port,
            authorization,
        )
        response = exchange(wire, request)
    assert response.status in (400, 403)
    assert (scene.dns.count(), scene.journal.accepts) == (asked, dialled)


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("host", ["127.0.0.1", "ours.names.test", "listed-ours.names.test"])
def test_our_own_listeners_are_refused_though_allow_private_covers_them(scene: Named, host: str, at: int) -> None:
    scene.dns.zone["ours.names.test"] = addresses(HERE)
    scene.gate.hosts.write_text("127.0.0.1 listed-ours.names.test\n")
    response = scene.get(host, scene.gate.ports[at])
    assert (response.status, response.json["failure"]) == (403, "address")
    assert "Effectgate itself" in response.json["reason"]
    assert scene.completion(response)["error"] == "address"


def test_a_static_answer_is_exempt_and_says_so(scene: Named) -> None:
    response = scene.get("static.names.test")
    output = scene.completion(response)
    assert (response.status, output["exempt"], output["address"]) == (200, "network.resolve", HERE)
    assert scene.dns.count("static.names.test") == 0


def test_a_nameserver_that_comes_later_is_asked(scene: Named) -> None:
    """A laptop that changes networks: /etc/resolv.conf is read again."""
    with Nameserver("127.0.0.2", scene.dns.address[1]) as other:
        other.zone["moved.names.test"] = addresses(HERE)
        before = scene.gate.resolv_conf.read_text()
        try:
            scene.gate.resolv_conf.write_text("nameserver 127.0.0.2\n")
            assert scene.get("moved.names.test").status == 200
        finally:
            scene.gate.resolv_conf.write_text(before)
    assert (other.count("moved.names.test", "A"), scene.dns.count("moved.names.test")) == (1, 0)


def test_names_that_hang_hold_up_nobody(scene: Named) -> None:
    """Forty lookups that are never answered; threads would be used up, and one agent's names would stop another's."""
    scene.dns.zone["fine.names.test"] = addresses(HERE)
    wires: list[socket.socket] = []
    try:
        for number in range(40):
            host = f"hangs-{number}.names.test"
            scene.dns.zone[host] = silent
            wires.append(scene.gate.door(AGENT).dial())
            fields = [("Host", f"{host}:{scene.origin.port}"), scene.gate.door(AGENT).authorization]
            wires[-1].sendall(head("GET", f"http://{host}:{scene.origin.port}/x", fields))
        assert scene.get("fine.names.test").status == 200
        assert sum(scene.dns.count(f"hangs-{number}.names.test") > 0 for number in range(40)) == 40
    finally:
        for wire in wires:
            wire.close()
