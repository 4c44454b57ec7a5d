"""Which addresses may be dialled, through a resolver that lies; the table of addresses is in test_address_table.py."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from ipaddress import ip_network

import pytest

from effectgate.boundary import Outcome
from effectgate.proxy.address import AddressPolicy, vet, vet_all
from effectgate.proxy.loop import ANSWERS, GuardedLoop, is_local
from effectgate.receipts.canonical import canonical
from effectgate.receipts.record import Draft, Place, RecordError, read_receipt, seal

from .harness import Proxy
from .origins import Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]
NOBODY = AddressPolicy()


def test_allow_private_exempts_its_networks_only() -> None:
    policy = AddressPolicy(allow_private=(ip_network("10.1.0.0/16"),))
    assert [vet(text, 443, policy) == "" for text in ("10.1.2.3", "10.2.0.1", "::ffff:10.1.2.3")] == [
        True,
        False,
        False,
    ]


def test_a_site_may_be_private_but_never_ourselves() -> None:
    policy = AddressPolicy(allow_private=(ip_network("127.0.0.0/8"),), own=frozenset({("127.0.0.1", 8080)}))
    assert vet("10.0.0.1", 443, policy, private=True) == ""
    assert vet("127.0.0.1", 8081, policy) == ""
    assert "Effectgate" in vet("127.0.0.1", 8080, policy, private=True)
    assert "Effectgate" in vet("::ffff:127.0.0.1", 8080, policy, private=True)


def test_one_bad_answer_refuses_them_all() -> None:
    assert vet_all(["8.8.8.8", "1.1.1.1"], 443, NOBODY) is None
    assert vet_all(["8.8.8.8", "10.0.0.1"], 443, NOBODY) == ("10.0.0.1", "a private address")


@pytest.mark.parametrize(
    "answers",
    [["127.0.0.1"], ["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["169.254.169.254"]],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_name_with_a_private_answer_is_403_and_the_allow_is_closed_as_failed(
    proxy: Make, answers: list[str], scheme: str
) -> None:
    gate = proxy()
    gate.names.table["allowed.lvh.test"] = answers
    answer = gate.get("allowed.lvh.test", scheme=scheme)
    assert answer.status == 403
    facts = answer.json()
    assert (facts["verdict"], facts["reason_code"], facts["failure"]) == ("DENY", "SANDBOX_VIOLATION", "address")
    assert facts["receipt_id"] == gate.boundary.completed[0][0].receipt_id
    assert (answer.headers["x-effectgate-verdict"], answer.headers["x-effectgate-reason"]) == (
        "DENY",
        "SANDBOX_VIOLATION",
    )
    outcome = gate.outcome()
    assert (outcome.success, outcome.error, outcome.status) == (False, "address", 0)
    assert gate.names.asked == ["allowed.lvh.test"]


def test_the_vetted_answer_is_the_one_that_is_dialled(proxy: Make, origin: MakeOrigin) -> None:
    """A resolver that answers well first and badly then is asked once."""
    there = origin()
    gate = proxy(ports=frozenset({there.port}), allow_private=(ip_network("127.0.0.1/32"),))
    answers = iter([["127.0.0.1"], ["127.0.0.2"], ["127.0.0.2"]])

    class Rebinding(dict[str, list[str]]):
        def get(self, key: str, default: object = None) -> list[str]:  # type: ignore[override]
            return next(answers)

    gate.names.table = Rebinding()
    with gate.tunnel(f"allowed.test:{there.port}") as wire:
        for _ in range(3):
            wire.send(f"GET / HTTP/1.1\r\nHost: allowed.test:{there.port}\r\n\r\n")
            assert wire.reply().status == 200
    assert (gate.names.asked, there.accepts) == (["allowed.test"], 1)


def test_a_static_answer_keeps_the_name_for_verification(proxy: Make, origin: MakeOrigin) -> None:
    gate = proxy({("allowed.other", 443): origin(name="allowed.test")})
    answer = gate.get("allowed.other")
    assert (answer.status, answer.json()["failure"], gate.names.asked) == (502, "certificate", [])


def test_the_address_behind_a_static_answer_is_not_opened_by_it(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(tls=False)
    gate = proxy({("allowed.test", 80): there}, ports=frozenset({80, there.port}))
    gate.boundary.allow = lambda facts: True
    assert gate.get(f"127.0.0.1:{there.port}", scheme="http").status == 403
    assert there.accepts == 0


@pytest.mark.parametrize("how", ["literal", "name", "static"])
def test_the_proxy_does_not_reach_itself(proxy: Make, how: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    gate = proxy(
        listen=("127.0.0.1", port), ports=frozenset({port}), allow_private=(ip_network("127.0.0.0/8"),),
        resolve={("allowed.static", port): ("127.0.0.1", port)},
    )  # fmt: skip
    gate.boundary.allow = lambda facts: True
    gate.names.table["allowed.name"] = ["127.0.0.1"]
    host = {"literal": "127.0.0.1", "name": "allowed.name", "static": "allowed.static"}[how]
    answer = gate.get(f"{host}:{port}", scheme="http")
    assert (answer.status, answer.json()["failure"]) == (403, "address")


def test_a_listener_on_every_address_is_ourselves_on_every_address(proxy: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    gate = proxy(listen=("0.0.0.0", port), ports=frozenset({port}), allow_private=(ip_network("127.0.0.0/8"),))
    gate.boundary.allow = lambda facts: True
    answer = gate.get(f"127.0.0.77:{port}", scheme="http")
    assert (answer.status, answer.json()["failure"]) == (403, "address")


def test_the_receipt_of_a_site_says_that_it_was_exempt(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(tls=False)
    gate = proxy(ports=frozenset({there.port}), private=frozenset({("allowed.site", there.port)}))
    gate.names.table |= {"allowed.site": ["127.0.0.1"], "allowed.other": ["127.0.0.1"]}
    assert gate.get(f"allowed.site:{there.port}", scheme="http").status == 200
    outcome = gate.outcome()
    assert (outcome.exempt, outcome.address) == ("sites", "127.0.0.1")
    assert gate.get(f"allowed.other:{there.port}", scheme="http").status == 403


@pytest.mark.parametrize(
    "answer",
    ["169.254.169.254", "100.100.100.200", "fd00:ec2::254", "169.254.1.1", "224.0.0.1", "0.0.0.0", "::ffff:10.0.0.1"],
)
def test_a_site_is_private_and_nothing_worse(proxy: Make, answer: str) -> None:
    gate = proxy(private=frozenset({("allowed.site", 80)}))
    gate.names.table["allowed.site"] = [answer]
    assert gate.get("allowed.site", scheme="http").json()["failure"] == "address"
    outcome = gate.outcome()
    assert (outcome.error, outcome.address, outcome.exempt) == ("address", answer, "")


def test_an_address_that_nobody_listens_at_is_in_the_receipt_too(proxy: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    gate = proxy(ports=frozenset({port}), allow_private=(ip_network("127.0.0.0/8"),))
    gate.names.table["allowed.test"] = ["127.0.0.1", "127.0.0.2"]
    assert gate.get(f"allowed.test:{port}", scheme="http").json()["failure"] == "connect"
    outcome = gate.outcome()
    assert (outcome.error, outcome.address, outcome.exempt) == ("connect", "127.0.0.2", "network.allow_private")


def test_no_more_than_the_first_answers_are_dialled(proxy: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    dialled: list[str] = []

    async def refuse(self: GuardedLoop, sock: socket.socket, address: tuple[str, int]) -> None:
        dialled.append(address[0])
        raise ConnectionRefusedError

    gate = proxy()
    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", refuse)
    gate.names.table["allowed.test"] = [f"93.184.216.{last}" for last in range(9)]
    assert gate.get("allowed.test", scheme="http").json()["failure"] == "connect"
    assert dialled == [f"93.184.216.{last}" for last in range(ANSWERS)]


@pytest.mark.parametrize(
    "answers", [["93.184.216.34", "10.0.0.1"], ["93.184.216.34", "::1"], ["127.0.0.1"], ["93.184.216.34", "nonsense"]]
)
def test_nothing_is_dialled_after_a_refusal(proxy: Make, answers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    dialled: list[object] = []

    async def note(self: GuardedLoop, sock: socket.socket, address: object) -> None:
        dialled.append(address)
        raise ConnectionRefusedError

    gate = proxy()
    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", note)
    gate.names.table["allowed.test"] = answers
    assert gate.get("allowed.test", scheme="http").json()["failure"] == "address"
    assert dialled == []


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_an_ipv6_origin(proxy: Make, origin: MakeOrigin) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listening:
        port = listening.getsockname()[1]
        gate = proxy(ports=frozenset({port}), allow_private=(ip_network("::1/128"),))
        gate.names.table["allowed.test"] = ["::1"]
        answering = threading.Thread(target=_answer_once, args=(listening,))
        answering.start()
        assert gate.get(f"allowed.test:{port}", scheme="http").status == 204
        answering.join(5)
    assert gate.outcome().address == "::1"


def _answer_once(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")


def test_a_listener_on_localhost_starts_and_is_ourselves(proxy: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    gate = proxy(
        listen=("localhost", port),
        ports=frozenset({port}),
        allow_private=(ip_network("127.0.0.0/8"), ip_network("::1/128")),
    )
    gate.names.table |= {"allowed.four": ["127.0.0.1"], "allowed.six": ["::1"], "allowed.two": ["127.0.0.2"]}
    answers = [gate.get(f"{host}:{port}", scheme="http") for host in gate.names.table]
    assert gate.call(gate.engine.ready)
    assert [answer.json()["failure"] for answer in answers] == ["address"] * 3


def test_every_address_of_this_machine_is_local_and_none_of_another(proxy: Make) -> None:
    ours = {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    assert all(map(is_local, ours | {"127.0.0.1", "127.9.9.9", "0.0.0.0"}))
    assert not any(map(is_local, ("192.0.2.1", "8.8.8.8", "2001:db8::1")))


def test_what_a_receipt_says_of_the_address_is_signed() -> None:
    """`output` is bound by `output_hash`, which the signature covers: another address or exemption is an edit."""
    completed = Outcome(True, 200, address="10.0.0.1", exempt="network.allow_private").facts()
    draft = Draft("completion", "2026-11-30T00:00:00Z", decision_id="dec-1", output=canonical(completed))
    body = seal(draft, Place("w"), "key", lambda message: bytes(64)).body
    assert read_receipt(body)["output"] == completed
    for old, new in ((b"network.allow_private", b""), (b"10.0.0.1", b"10.0.0.2")):
        with pytest.raises(RecordError, match="output does not hash"):
            read_receipt(body.replace(old, new))
