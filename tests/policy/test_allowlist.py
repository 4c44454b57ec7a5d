"""Allow-lists as people have them: how lines are read, what each host was for, which entries no effect should carry."""

from __future__ import annotations

import pytest

from effectgate.policy.allowlist import AllowedHost, Reading, read_allowlist, read_entry
from effectgate.policy.catalog import Catalog
from policy.build import NOW, effect

LINES = [
    ("api.test", "api.test", ""),
    ("  API.test.  # a comment", "api.test", ""),
    ('"api.test",', "api.test", ""),
    ("- 'api.test'", "api.test", ""),
    ("WebFetch(domain:api.test)", "api.test", ""),
    ('  "WebFetch(domain:api.test)",', "api.test", ""),
    ("api.test:443", "api.test", ""),
    ("https://api.test/", "api.test", ""),
    ("https://api.test/*", "api.test", ""),
    ("https://api.test/acme/web?x=1", "api.test", "/acme/web?x=1"),
    ("**.api.test", "*.api.test", ""),
    (".api.test", "*.api.test", ""),
    ("[::1]:80", "::1", ""),
]


@pytest.mark.parametrize(("line", "host", "path"), LINES)
def test_a_line(line: str, host: str, path: str) -> None:
    assert [(entry.host, entry.path) for entry in read_allowlist(line)] == [(host, path)]


@pytest.mark.parametrize("text", ["", "\n \n", "# only a comment", "[\n]", "// c"])
def test_no_entry(text: str) -> None:
    assert read_allowlist(text) == []


def test_each_entry_once() -> None:
    assert len(read_allowlist("a.test\na.test\nb.test")) == 2


CATALOG = Catalog.build(
    [
        effect("one/read", "read", "GET api.one.test/{owner}/x"),
        effect("one/secret", "read", "GET api.one.test/secret", reserved=True),
        effect("one/write", "publish", "POST api.one.test/{owner}/x"),
        effect("two/upload", "publish", "POST up.two.test/"),
        effect("many/read", "read", *(f"GET h{n}.many.test/" for n in range(13))),
        *(effect(f"p{n}/read", "read", f"GET p{n}.packs.test/") for n in range(3)),
        effect("pages/read", "read", "GET me.github.io/"),
    ]
)


def read(line: str) -> Reading:
    return read_entry(CATALOG, read_allowlist(line)[0], NOW)


@pytest.mark.parametrize("line", ["api.one.test", "*.one.test", "https://api.one.test/other/path"])
def test_a_host_was_for_everything_there_and_only_its_reads_are_carried(line: str) -> None:
    found = read(line)
    assert found.effects == ("one/read", "one/secret", "one/write")
    assert [wish.effect for wish in found.wishes] == ["one/read"]
    assert found.purpose == "one read; one secret; one write (2 read, 1 publish)"
    assert found.rest.startswith("2 effects there that change or reveal something, such as one/secret")
    assert not found.refusal


def test_a_url_that_an_effect_names_narrows_it() -> None:
    found = read("https://api.one.test/acme/x")
    assert [(wish.effect, [value.text for value in wish.where["owner"]]) for wish in found.wishes] == [
        ("one/read", ["acme"])
    ]


REFUSED = [
    ("*", "every host"),
    ("*.com", "public suffix"),
    ("foo*.test", "whole labels"),
    ("10.0.0.1", "an address is no service"),
    ("169.254.169.254", "an address is no service"),
    ("0x7f000001", "looks like an address"),
    ("localhost:3000", "this machine"),
    ("metadata.google.internal", "this machine or in its network"),
    ("*.github.io", "anyone can have a host below github.io"),
    ("*.many.test", "it covers 13 hosts of many"),
    ("*.packs.test", "it covers 3 hosts of p0, p1, p2"),
    ("unknown.test", "no effect names it"),
    ("up.two.test", "nothing that is only read lies there"),
    ("a b", "the label"),
]


@pytest.mark.parametrize(("line", "reason"), REFUSED)
def test_what_no_effect_should_carry(line: str, reason: str) -> None:
    found = read(line)
    assert reason in found.refusal
    assert found.wishes == ()


def test_what_an_entry_was_for_is_told_where_it_is_refused_too() -> None:
    assert read("up.two.test").purpose == "two upload (1 publish)"


def test_an_unreadable_entry_is_no_error() -> None:
    assert read_entry(CATALOG, AllowedHost("ü", "ü"), NOW).refusal
