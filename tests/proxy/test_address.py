"""Which addresses may be dialled, through a resolver that lies; the table of addresses is in test_address_table.py."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import ip_network

import pytest

from effectgate.proxy.address import AddressPolicy, vet, vet_all

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
    assert vet_all(["8.8.8.8", "1.1.1.1"], 443, NOBODY) == ""
    assert "private" in vet_all(["8.8.8.8", "10.0.0.1"], 443, NOBODY)


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
