"""What a receipt keeps of a request, row by row."""

from __future__ import annotations

from typing import Any

import pytest

from effectgate.policy.facts import facts_from_url
from effectgate.policy.verdict import Named, Verdict
from effectgate.policy.vocabulary import Decision, Reason, Risk
from effectgate.receipts.evidence import MAX_PAIRS, Evidence, PathMode, credential_tag

KEY = b"k" * 32
UNNAMED = Verdict(Decision.DENY, Reason.DATA_EGRESS_BLOCKED, "")
LONG = "x" * 21


def named(template: str, *secret: str) -> Verdict:
    return Verdict(
        Decision.ALLOW,
        Reason.NONE,
        "",
        effect="a/b",
        recognised=(Named("a/b", "t", Risk.READ),),
        template=template,
        secret=frozenset(secret),
    )


def args(url: str, verdict: Verdict = UNNAMED, paths: PathMode = "full", **request: Any) -> dict[str, Any]:
    facts = facts_from_url(request.pop("method", "GET"), url, **request)
    return Evidence(KEY, paths).request("ci", facts, verdict)


@pytest.mark.parametrize(
    ("path", "verdict", "kept"),
    [
        ("/a/short", UNNAMED, "/a/short"),
        (f"/a/{LONG}/b", UNNAMED, "/a/hmac:*/b"),
        (f"/a/{LONG}/b", named("/a/{x}/b"), f"/a/{LONG}/b"),
        ("/bot123/send", named("/bot{token}/send", "token"), "/hmac:*/send"),
        ("/a/tok/b", named("/a/{token}/{c}", "token"), "/a/hmac:*/hmac:*"),
        (
            "//bot123/send",
            named("/bot{token}/send", "token"),
            "/hmac:*/hmac:*/hmac:*",
        ),  # padded: no place is the pattern's
        ("/a/tok/b", named("/a/{x}/b", "elsewhere"), "/a/hmac:*/b"),  # bound by another shape, so any segment may be it
        ("/a/b/tok", named("/a/*", "token"), "/a/hmac:*/hmac:*"),
        ("/%61/b", named("/a/b"), "/%61/b"),
    ],
)
def test_paths(path: str, verdict: Verdict, kept: str) -> None:
    found = args(f"https://api.test{path}", verdict)
    pattern = kept.split("hmac:*")
    text = str(found["path"])
    for piece in pattern:
        assert piece in text
    assert text.count("hmac:") == len(pattern) - 1
    assert ("path_hmac" in found) == (len(pattern) > 1)


def test_queries_keep_names_and_hide_values() -> None:
    query = args("https://api.test/?page=2&q=a%20b&q=a+b&sk_live_abc&" + "n" * 41 + "=1")["query"]
    assert [name for name, _ in query] == ["page", "q", "q", "…", "…"]
    assert query[1] == query[2]
    assert all(tag.startswith("hmac:") for _, tag in query)


def test_many_queries_are_one_tag() -> None:
    query = args("https://api.test/?" + "&".join(f"n{i}=1" for i in range(500)))["query"]
    assert len(query) == MAX_PAIRS + 1


def test_credentials_are_no_part_of_the_headers_tag() -> None:
    def tag(*headers: tuple[str, str]) -> object:
        return args("https://api.test/", headers=headers)["headers_hmac"]

    assert tag(("Cookie", "a"), ("Authorization", "b"), ("X-Api-Key", "c")) == tag()
    assert tag(("Accept", "a")) != tag(("Accept", "b"))


def test_another_installation_has_other_tags() -> None:
    facts = facts_from_url("GET", "https://api.test/?a=b")
    assert Evidence(b"o" * 32).request("ci", facts, UNNAMED)["query"] != args("https://api.test/?a=b")["query"]


@pytest.mark.parametrize(
    ("content", "inspected"), [(b"", "full"), (b"{}", "full"), (None, "headers")], ids=["none", "held", "unread"]
)
def test_what_was_inspected(content: bytes | None, inspected: str) -> None:
    facts = facts_from_url("POST", "https://api.test/")
    facts = facts.with_body(content) if content != b"" else facts
    found = Evidence(KEY).request("ci", facts, UNNAMED)
    assert found["inspected"] == inspected
    assert ("sha256" in found["body"]) == (content == b"{}")  # type: ignore[operator]


def test_credential_tags() -> None:
    def tags(*headers: tuple[str, str]) -> frozenset[str]:
        return Evidence(KEY).credentials(facts_from_url("GET", "https://api.test/", headers))

    assert tags() == frozenset()
    assert tags(("Authorization", "Bearer a")) == {credential_tag(KEY, "Bearer a")}
    assert tags(("x-api-key", "k")) == {credential_tag(KEY, "k")}
    signed = "AWS4-HMAC-SHA256 Credential=AKIA/20261130/eu/s3/aws4_request, SignedHeaders=host, Signature=ff"
    assert credential_tag(KEY, "AKIA") in tags(("Authorization", signed))
