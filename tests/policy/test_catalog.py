"""The catalog: its digest, its vouches, the ports it knows, and hosts that requests choose."""

from __future__ import annotations

import pytest

from effectgate.policy import catalog as module
from effectgate.policy.catalog import Catalog
from effectgate.policy.facts import facts_from_url
from policy.build import ask, effect, shape

READ, WRITE = effect("v/read", "read", hosts=("a.test",)), effect("v/write", "publish", hosts=("b.test", "@site"))


def test_the_digest_is_of_the_effects_in_any_order() -> None:
    assert Catalog.build([READ, WRITE]).digest == Catalog.build([WRITE, READ]).digest
    assert Catalog.build([READ]).digest != Catalog.build([WRITE]).digest


@pytest.mark.parametrize(
    ("held", "request_", "allowed"),
    [
        ("v/read", "GET https://a.test/any?x", True),
        ("v/read", "HEAD https://a.test/", True),
        ("v/read", "OPTIONS https://a.test/", True),
        ("v/read", "POST https://a.test/", False),
        ("v/read", "GET http://a.test/", False),
        ("v/read", "GET https://a.test:8443/", False),
        ("v/read", "GET https://sub.a.test/", False),
        ("v/read", "GET https://a.test/x%2fy", False),
        ("v/read", "GET wss://a.test/", False),
        ("v/write", "PATCH https://b.test/", True),
        ("v/write", "PURGE https://b.test/", True),
    ],
)
def test_a_vouch_is_https_on_443_and_at_read_only_safe(held: str, request_: str, allowed: bool) -> None:
    assert ask(Catalog.build([READ, WRITE]), held, request_).allowed is allowed


def test_a_read_vouch_carries_no_body() -> None:
    catalog = Catalog.build([READ, WRITE])
    assert not ask(catalog, "v/read", "GET https://a.test/", body=b"x").allowed
    assert ask(catalog, "v/write", "POST https://b.test/", body=b"x").allowed


def test_known_ports() -> None:
    made = effect(
        "p/e", "read", shape("GET *.a.test/x/{y}", ports=frozenset({8443}), ports_explicit=True), "GET b.test/*"
    )
    catalog = Catalog.build([made])
    rows = {
        ("x.a.test", 8443): True,
        ("x.a.test", 443): False,
        ("b.test", 443): True,
        ("b.test", 8443): False,
        ("c.test", 443): False,
    }
    assert {row: catalog.knows_port(*row) for row in rows} == rows
    assert ask(catalog, "p/e", "GET https://x.a.test:8443/x/1").allowed


def test_how_much_of_a_body_is_needed() -> None:
    catalog = Catalog.build(
        [effect("i/e", "publish", shape("POST a.test/x", inspect=9), shape("POST a.test/*", inspect=5))]
    )
    form = [("content-type", "application/x-www-form-urlencoded")]
    needs = [
        catalog.inspect_bytes(facts_from_url("POST", f"https://a.test{p}", form).with_body(None)) for p in ("/x", "/y")
    ]
    assert needs == [9, 5]
    assert catalog.inspect_bytes(facts_from_url("POST", "https://a.test/x", form)) == 0


def test_hosts_that_requests_choose_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_HOSTS", 8)
    catalog = Catalog.build([effect("h/e", "read", "GET *.a.test/x")])
    for number in range(100):
        assert ask(catalog, "h/e", f"GET https://n{number}.a.test/x").allowed
    assert len(catalog._hosts) <= 8
