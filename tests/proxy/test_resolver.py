"""The resolver by itself: nameservers that lie, stall and disappear, and the two files that it reads."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from effectgate.proxy import resolver
from effectgate.proxy.hosts_file import HostsFile, parse_hosts
from effectgate.proxy.loop import ResolveError
from effectgate.proxy.resolver import HostResolver, in_dialling_order
from names.message import TRUNCATED, respond
from names.nameserver import THREAD, Nameserver, Play, addresses, by_kind, failing, forged, raw, silent, slow

Ask = Callable[..., Sequence[str]]


@pytest.fixture
def dns() -> Iterator[Nameserver]:
    with Nameserver() as nameserver:
        yield nameserver


@pytest.fixture
def of_host(dns: Nameserver, tmp_path: Path) -> HostResolver:
    """Asks `dns`, and reads `hosts` and `resolv.conf` in tmp_path."""
    (tmp_path / "resolv.conf").write_text(
        "search corp.test\noptions ndots:9 timeout:30 attempts:9\nnameserver 127.0.0.1\n"
    )
    files = {"hosts": tmp_path / "hosts", "configuration": tmp_path / "resolv.conf"}
    return HostResolver(5.0, **files, port=dns.address[1])


def run(lookup: Coroutine[Any, Any, Sequence[str]]) -> Sequence[str]:
    return asyncio.run(lookup)


def why(lookup: Coroutine[Any, Any, Sequence[str]]) -> str:
    with pytest.raises(ResolveError) as raised:
        asyncio.run(lookup)
    assert ", " not in str(raised.value)  # mitmproxy joins several messages with it
    return str(raised.value)


def test_both_families_in_dialling_order(
    dns: Nameserver, of_host: HostResolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    dns.zone["a.test"] = addresses("192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1")
    monkeypatch.setattr(resolver, "_has_route", lambda address: True)
    assert run(of_host("a.test")) == ["2001:db8::1", "192.0.2.1", "192.0.2.2", "192.0.2.3"]
    monkeypatch.setattr(resolver, "_has_route", lambda address: False)
    assert run(of_host("a.test")) == ["192.0.2.1", "2001:db8::1", "192.0.2.2", "192.0.2.3"]


def test_the_order_loses_nothing() -> None:
    assert in_dialling_order([]) == []
    assert sorted(in_dialling_order(["::1", "::2", "1.1.1.1"])) == ["1.1.1.1", "::1", "::2"]


@pytest.mark.parametrize(
    ("play", "reason"),
    [
        (failing(3), "there is no such name"),
        (failing(2), "no nameserver could answer"),
        (failing(5), "no nameserver could answer"),
        (addresses(), "it has no address"),
    ],
)
def test_why_a_name_has_no_address(dns: Nameserver, of_host: HostResolver, play: Play, reason: str) -> None:
    dns.zone["a.test"] = play
    assert why(of_host("a.test")) == reason
    assert dns.names() == ["a.test"]


UNUSABLE = {
    "silent": silent,
    "late": slow(3.0, addresses("192.0.2.1")),
    "empty": raw(lambda question: b""),
    "cut": raw(lambda question: question.id.to_bytes(2) + b"\0"),
    "id": forged(silent, addresses("10.0.0.1")),
    "question": forged(silent, addresses("10.0.0.1"), id_too=False),
}


@pytest.mark.parametrize("how", UNUSABLE)
def test_what_is_no_answer_is_waited_out(dns: Nameserver, of_host: HostResolver, how: str) -> None:
    of_host._seconds = 0.4
    dns.zone["a.test"] = UNUSABLE[how]
    assert why(of_host("a.test")) == "no nameserver answered in time"


def test_an_answer_over_tcp_is_read_up_to_its_bound(dns: Nameserver, of_host: HostResolver) -> None:
    many = [f"192.0.{number >> 8}.{number & 255}" for number in range(300)]
    dns.zone["a.test"] = addresses(*many[:200])
    assert list(run(of_host("a.test"))) == many[:200]
    dns.zone["a.test"] = addresses(*many)
    assert why(of_host("a.test")) == "no nameserver could answer"


@pytest.mark.parametrize("id_too", [True, False])
def test_an_answer_over_tcp_to_something_else_is_none(dns: Nameserver, of_host: HostResolver, id_too: bool) -> None:
    cut = raw(lambda question: respond(question, flags=TRUNCATED))
    lie = forged(silent, addresses("10.0.0.1"), id_too=id_too)
    dns.zone["a.test"] = lambda question, *, tcp: (lie if tcp else cut)(question, tcp=tcp)
    assert why(of_host("a.test")) == "no nameserver could answer"


def test_a_family_that_stalls_is_waited_for_and_then_left(dns: Nameserver, of_host: HostResolver) -> None:
    dns.zone["a.test"] = by_kind(addresses("192.0.2.1"), slow(0.2, addresses("fd00::1")))
    assert set(run(of_host("a.test"))) == {"192.0.2.1", "fd00::1"}
    dns.zone["a.test"] = by_kind(silent, addresses("fd00::1"))
    assert run(of_host("a.test")) == ["fd00::1"]


def test_the_second_nameserver_is_asked_where_the_first_is_silent(
    dns: Nameserver, of_host: HostResolver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "TRY_SECONDS", 0.2)
    dns.zone["a.test"] = silent
    with Nameserver("127.0.0.2", dns.address[1]) as second:
        second.zone["a.test"] = addresses("192.0.2.1")
        (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\nnameserver 127.0.0.2\n")
        assert run(of_host("a.test")) == ["192.0.2.1"]
    assert dns.count("a.test") == 2


@pytest.mark.parametrize(
    "text", [None, "", "search corp.test\n", "nameserver\n", "nameserver not-an-address\n", "\0\n"]
)
def test_without_a_nameserver_it_says_where_one_belongs(
    of_host: HostResolver, tmp_path: Path, text: str | None
) -> None:
    if text is None:
        (tmp_path / "resolv.conf").unlink()
    else:
        (tmp_path / "resolv.conf").write_text(text)
    assert why(of_host("a.test")) == f"{tmp_path / 'resolv.conf'} names no nameserver"


def test_nobody_listens_at_the_nameserver(of_host: HostResolver, dns: Nameserver) -> None:
    of_host._seconds = 0.4
    dns.close()
    assert why(of_host("a.test")) in ("no nameserver answered in time", "no nameserver could answer")


@pytest.mark.parametrize("host", ["localhost", "deep.localhost"])
def test_localhost_is_never_asked_for(dns: Nameserver, of_host: HostResolver, host: str) -> None:
    assert (run(of_host(host)), dns.count()) == (("127.0.0.1", "::1"), 0)


@pytest.mark.parametrize("host", ["a.onion", "a.invalid", "a.alt", "onion"])
def test_names_that_no_nameserver_may_see(dns: Nameserver, of_host: HostResolver, host: str) -> None:
    assert (why(of_host(host)), dns.count()) == (f".{host.rpartition('.')[2]} has no addresses in DNS", 0)


def test_the_hosts_file_speaks_first_for_any_name(dns: Nameserver, of_host: HostResolver, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("192.0.2.9 a.test a.onion localhost\n")
    assert [run(of_host(host)) for host in ("a.test", "a.onion", "localhost")] == [("192.0.2.9",)] * 3
    assert dns.count() == 0


def test_lookups_need_no_threads_and_leave_nothing_open(dns: Nameserver, of_host: HostResolver) -> None:
    dns.zone["hangs.test"] = silent
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    async def give_up() -> tuple[list[str], int]:
        others = set(threading.enumerate())
        lookups = [asyncio.ensure_future(of_host("hangs.test")) for _ in range(50)]
        await asyncio.sleep(0.1)
        threads = [thread.name for thread in threading.enumerate() if thread not in others and thread.name != THREAD]
        for lookup in lookups:
            lookup.cancel()
        await asyncio.gather(*lookups, return_exceptions=True)
        await asyncio.sleep(0.05)
        return threads, len(asyncio.all_tasks())

    assert asyncio.run(give_up()) == ([], 1)
    after = len(os.listdir("/proc/self/fd")) if before else 0
    assert after <= before + 4  # of the nameserver's own


def test_what_a_hosts_file_may_hold() -> None:
    text = "\ufeff# comment\n127.0.0.1\tlocalhost LOCAL.Test. # more\nnonsense name\n\n::1 localhost\n127.0.0.1 localhost\n10.0.0.1\n"
    text += "fe80::1%lo z.test\r\n"
    assert parse_hosts(text) == {
        "localhost": ("127.0.0.1", "::1"),
        "local.test": ("127.0.0.1",),
        "z.test": ("fe80::1%lo",),
    }


def test_a_hosts_file_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    file = HostsFile(tmp_path / "hosts")
    assert file.addresses("a.test") == ()
    (tmp_path / "hosts").write_bytes(b"192.0.2.1 a.test \xff\n")
    assert file.addresses("a.test") == ("192.0.2.1",)
    (tmp_path / "hosts").write_text("192.0.2.22 a.test\n")
    assert file.addresses("a.test") == ("192.0.2.22",)
    (tmp_path / "hosts").unlink()
    assert file.addresses("a.test") == ()
