"""Discriminators in three values, on the plain reading and with letters folded; conditions; how much body is asked for."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from effectgate.policy.discriminator import Truth, conditions_hold, evaluate, inspect_bytes
from effectgate.policy.facts import facts_from_url
from policy.build import shape

TRUE, FALSE, UNREADABLE = Truth.TRUE, Truth.FALSE, Truth.UNREADABLE
FORM = ("content-type", "application/x-www-form-urlencoded")
MULTIPART = ("content-type", "multipart/form-data; boundary=x")
GZIP = ("content-encoding", "gzip")


@pytest.mark.parametrize(
    ("query", "plain", "folded"),
    [
        ("Act=List", TRUE, TRUE),
        ("Act=List&Act=List", TRUE, TRUE),
        ("x=1&Act=List", TRUE, TRUE),
        ("Act=L%69st", TRUE, TRUE),
        ("%41ct=List", TRUE, TRUE),
        ("Act=List+", FALSE, FALSE),
        ("Act=list", FALSE, TRUE),
        ("act=List", FALSE, TRUE),
        ("Act=Drop", FALSE, FALSE),
        ("", FALSE, FALSE),
        ("Act", FALSE, FALSE),
        ("Act=List&Act=Drop", UNREADABLE, UNREADABLE),
        ("Act=List&act=Drop", TRUE, UNREADABLE),
        ("Act=List&ACT=List", TRUE, TRUE),
        ("Act=List;Act=Drop", UNREADABLE, UNREADABLE),
        ("x=1;Act=List", FALSE, TRUE),
        ("Act=List;x=1", FALSE, UNREADABLE),
        ("Act=List;", FALSE, UNREADABLE),
        ("Act=%ff", UNREADABLE, UNREADABLE),
        ("x=%ff", UNREADABLE, UNREADABLE),
        ("Act[]=List", FALSE, FALSE),
    ],
)
def test_query(query: str, plain: Truth, folded: Truth) -> None:
    facts = facts_from_url("GET", f"https://a.test/?{query}")
    wanted = shape("GET a.test/", query={"Act": "List"})
    assert (evaluate(wanted, facts, False)[0], evaluate(wanted, facts, True)[0]) == (plain, folded)


@pytest.mark.parametrize(
    ("headers", "body", "query", "plain"),
    [
        ([FORM], b"Act=List", "", TRUE),
        ([FORM], b"Act=List&Act=List", "", TRUE),
        ([("content-type", "application/x-www-form-urlencoded; charset=utf-8")], b"Act=List", "", TRUE),
        ([FORM], b"Act=Drop", "", FALSE),
        ([FORM], b"x=1", "", FALSE),
        ([FORM], None, "", FALSE),
        ([], None, "", FALSE),
        ([FORM], b"Act=List&Act=Drop", "", UNREADABLE),
        ([FORM], b"Act=List", "Act=Drop", UNREADABLE),
        ([FORM], b"Act=List", "Act=List", TRUE),
        ([FORM], b"Act=\xff", "", UNREADABLE),
        ([FORM], b"Act=%ff", "", UNREADABLE),
        ([FORM, GZIP], gzip.compress(b"Act=List", mtime=0), "", TRUE),
        ([MULTIPART], b"Act=List", "", UNREADABLE),
        ([("content-type", "text/plain")], b"Act=List", "", UNREADABLE),
        ([], b"Act=List", "", UNREADABLE),
    ],
)
def test_form(headers: list[tuple[str, str]], body: bytes | None, query: str, plain: Truth) -> None:
    facts = facts_from_url("POST", f"https://a.test/?{query}", headers, body)
    assert evaluate(shape("POST a.test/", form={"Act": "List"}), facts, False)[0] is plain


def test_a_form_that_is_not_held_is_unreadable() -> None:
    facts = facts_from_url("POST", "https://a.test/", [FORM]).with_body(None)
    assert evaluate(shape("POST a.test/", form={"Act": "*"}), facts, False)[0] is UNREADABLE


@pytest.mark.parametrize(
    ("headers", "body", "plain"),
    [
        ([], None, TRUE),
        ([("content-type", "text/plain")], b"Act=Drop", TRUE),
        ([FORM], b"x=1", TRUE),
        ([FORM], b"Act=List", TRUE),
        ([FORM], b"Act=Drop", UNREADABLE),
        ([FORM], b"%ff=1", UNREADABLE),
        ([MULTIPART], b"--x", UNREADABLE),
    ],
)
def test_a_form_may_contradict_the_query(headers: list[tuple[str, str]], body: bytes | None, plain: Truth) -> None:
    facts = facts_from_url("POST", "https://a.test/?Act=List", headers, body)
    assert evaluate(shape("POST a.test/", query={"Act": "List"}), facts, False)[0] is plain


@pytest.mark.parametrize(
    ("headers", "plain"),
    [
        ([("X-Target", "Logs.Get")], TRUE),
        ([("x-target", "Logs.Get"), ("X-TARGET", "Logs.Get")], TRUE),
        ([("X-Target", "Logs.Get"), ("X-Target", "Logs.Drop")], UNREADABLE),
        ([("X-Target", "Logs.Get, Logs.Drop")], TRUE),  # one value, which the pattern's own `*` takes
        ([("X-Target", "logs.get")], FALSE),
        ([], FALSE),
    ],
)
def test_headers(headers: list[tuple[str, str]], plain: Truth) -> None:
    facts = facts_from_url("POST", "https://a.test/", headers)
    assert evaluate(shape("POST a.test/", headers={"x-target": "Logs.Get*"}), facts, False)[0] is plain


def test_what_is_bound() -> None:
    wanted = shape("GET a.test/", query={"b": "{bucket}", "v": ["latest", "{version}"]})
    facts = facts_from_url("GET", "https://a.test/?b=photos&v=latest")
    assert evaluate(wanted, facts, False) == (TRUE, {"bucket": "photos"})
    assert evaluate(wanted, facts_from_url("GET", "https://a.test/?b=photos&v=7"), False)[1]["version"] == "7"
    assert evaluate(wanted, facts_from_url("GET", "https://a.test/?b=x&b=y&v=7"), False) == (
        UNREADABLE,
        {"version": "7"},
    )


@pytest.mark.parametrize(
    ("keys", "url", "headers", "body", "holds"),
    [
        ({}, "https://a.test/?q=1", [], None, True),
        ({}, "https://a.test/", [], b"x", False),
        ({"body": True}, "https://a.test/", [], b"x", True),
        ({}, "wss://a.test/", [], None, False),
        ({"websocket": True}, "wss://a.test/", [], None, True),
        ({}, "https://a.test/a%2fb", [], None, False),
        ({"encoded_slash": True}, "https://a.test/a%2fb", [], None, True),
        ({"absent": frozenset({"x-copy"})}, "https://a.test/", [("X-Copy", "")], None, False),
        ({"absent": frozenset({"x-copy"})}, "https://a.test/", [("X-Copied", "")], None, True),
        ({"query_only": frozenset({"page"})}, "https://a.test/?page=1&page=2", [], None, True),
        ({"query_only": frozenset({"page"})}, "https://a.test/?Page=1", [], None, False),
        ({"query_only": frozenset({"page"})}, "https://a.test/?pag%65=1", [], None, True),
        ({"query_only": frozenset({"page"})}, "https://a.test/?page=%ff", [], None, False),
        ({"query_only": frozenset()}, "https://a.test/?x", [], None, False),
        ({"query_only": frozenset(), "query": {"x": "*"}}, "https://a.test/?x", [], None, True),
    ],
)
def test_conditions(
    keys: dict[str, Any], url: str, headers: list[tuple[str, str]], body: bytes | None, holds: bool
) -> None:
    assert conditions_hold(shape("GET a.test/*", **keys), facts_from_url("GET", url, headers, body)) is holds


def test_a_form_is_asked_for_whatever_the_shape_for_it_may_hold_a_method() -> None:
    plain = facts_from_url("POST", "https://a.test/")
    form = facts_from_url("POST", "https://a.test/", [FORM]).with_body(None)
    other = facts_from_url("POST", "https://a.test/", [("content-type", "application/json")]).with_body(None)
    assert [inspect_bytes(shape("POST a.test/", inspect=7), facts) for facts in (plain, form, other)] == [0, 7, 0]
