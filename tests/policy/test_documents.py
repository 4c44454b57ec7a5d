"""JSON documents and pointers, GraphQL documents, content codings: what is readable, and what it says."""

from __future__ import annotations

import gzip
import zlib
from functools import partial

import pytest

from effectgate.policy.content_coding import decoded
from effectgate.policy.fault import PatternError
from effectgate.policy.graphql_document import MAX_TOKENS, RootField, root_fields
from effectgate.policy.json_body import is_json, read_json, strings_at, tokens

DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b'{"a":1,"a":1}',
        b'{"x":{"a":1,"a":2}}',
        b"NaN",
        b"[Infinity]",
        b"\xef\xbb\xbf{}",
        DEEP,
        b"{}x",
    ],
)
def test_not_a_document(content: bytes) -> None:
    assert read_json(content) is None


@pytest.mark.parametrize(
    ("body", "pointer", "plain", "folded"),
    [
        (b'{"a":"x"}', "/a", {"x"}, {"x"}),
        (b'{"a":{"b":"x"}}', "/a/b", {"x"}, {"x"}),
        (b'{"a/b":"x"}', "/a~1b", {"x"}, {"x"}),
        (b'{"a~b":"x"}', "/a~0b", {"x"}, {"x"}),
        (b'{"":"x"}', "/", {"x"}, {"x"}),
        (b'{"a":"\\ud83d\\ude00"}', "/a", {"\U0001f600"}, {"\U0001f600"}),
        (b'{"\\u0061":"x"}', "/a", {"x"}, {"x"}),
        (b'["x","y"]', "/1", {"y"}, {"y"}),
        (b'["x"]', "/1", set(), set()),
        (b'["x"]', "/99999999", set(), set()),
        (b'["x"]', "/-", None, None),
        (b"{}", "/a", set(), set()),
        (b'{"a":null}', "/a", set(), set()),
        (b'{"a":null}', "/a/b", set(), set()),
        (b'{"a":1}', "/a", None, None),
        (b'{"a":true}', "/a", None, None),
        (b'{"a":["x"]}', "/a", None, None),
        (b'{"a":"x"}', "/a/b", None, None),
        (b'{"A":"x"}', "/a", set(), {"x"}),
        (b'{"a":"x","A":"y"}', "/a", {"x"}, {"x", "y"}),
        (b'{"a":"x","A":1}', "/a", {"x"}, None),
    ],
)
def test_what_a_pointer_finds(body: bytes, pointer: str, plain: set[str] | None, folded: set[str] | None) -> None:
    document = read_json(body)
    assert document is not None
    assert strings_at(document, pointer, False) == plain
    assert strings_at(document, pointer, True) == folded


def test_a_pointer_begins_with_a_slash() -> None:
    with pytest.raises(PatternError, match="not a JSON pointer"):
        tokens("method")


@pytest.mark.parametrize(
    ("kind", "json"),
    [
        ("application/json", True),
        ("application/x-amz-json-1.1", True),
        ("application/vnd.api+json", True),
        ("text/json", False),
        ("application/jsonp", False),
        ("text/plain", False),
        ("", False),
    ],
)
def test_media_types_of_json(kind: str, json: bool) -> None:
    assert is_json(kind) is json


def test_a_batch_is_its_items() -> None:
    def items(body: bytes) -> list[object]:
        document = read_json(body)
        assert document is not None
        return [part.value for part in document.batch]

    assert items(b'[{"a":1},2]') == [{"a": 1}, 2]
    assert items(b"{}") == [{}]
    assert items(b"[]") == [[]]


SPREAD = "query { ...F } fragment F on Query { a ...G } fragment G on Query { b ...F }"


@pytest.mark.parametrize(
    ("text", "name", "fields"),
    [
        ("{ viewer { login } }", None, "query viewer"),
        ("query Q { a b }", None, "query a b"),
        ("query Q { a }", "Q", "query a"),
        ("mutation { createIssue(input: {}) { id } }", None, "mutation createIssue"),
        ("subscription { s }", None, "subscription s"),
        ("{ viewer: deleteRepo { id } }", None, "query deleteRepo"),
        ("{ a @skip(if: true) b }", None, "query a b"),
        ("{ ... on Query { a } ... { b } }", None, "query a b"),
        (SPREAD, None, "query a b"),
        ("query Q { a } mutation M { b }", "Q", "query a"),
        ("query Q { a } mutation M { b }", "M", "mutation b"),
        ("# mutation { b }\n{ a }", None, "query a"),
        ("{ __typename a }", None, "query a"),
        ("{ __typename }", None, "query __typename"),
        ("{ __schema { types { name } } }", None, "query __schema"),
        ("query Q { a } mutation M { b }", None, ""),
        ("query Q { a } mutation M { b }", "X", ""),
        ("query Q { a } query Q { b }", "Q", ""),
        ("{ a } mutation M { b }", "M", ""),
        ("{ a }", "Q", ""),
        ("{ a }", "", ""),
        ("{ ...Missing }", None, ""),
        ("{ ...F } fragment F on Q { a } fragment F on Q { b }", None, ""),
        ("type T { a: Int } query { a }", None, ""),
        ("fragment F on Q { a }", None, ""),
        ("{ a", None, ""),
        ("", None, ""),
        ("{" * 20_000, None, ""),
        ("{ " + "a{" * 4000 + "b" + "}" * 4000 + " }", None, ""),
        ("{ " + "a " * (MAX_TOKENS + 1) + "}", None, ""),
    ],
)  # fmt: skip
def test_root_fields(text: str, name: str | None, fields: str) -> None:
    operation, *names = fields.split() or [""]
    assert root_fields(text, name) == (tuple(RootField(operation, n) for n in names) or None)


BODY = b"a=1&b=2"
zipped = partial(gzip.compress, mtime=0)


@pytest.mark.parametrize(
    ("content", "codings", "within", "plain"),
    [
        (BODY, [], 10, BODY),
        (BODY, ["identity"], 10, BODY),
        (zipped(BODY), ["gzip"], 10, BODY),
        (zipped(BODY), ["X-GZIP"], 10, BODY),
        (zipped(BODY), ["gzip"], 6, None),
        (zlib.compress(BODY), ["deflate"], 64, None),
        (zipped(BODY * 100_000), ["gzip"], 64, None),
        (zipped(BODY)[:-1], ["gzip"], 64, None),
        (zipped(BODY) + zipped(BODY), ["gzip"], 64, None),
        (zipped(BODY) + b"x", ["gzip"], 64, None),
        (BODY, ["gzip"], 64, None),
        (zipped(zipped(BODY)), ["gzip, gzip"], 64, None),
        (zipped(BODY), ["gzip", "gzip"], 64, None),
        (BODY, ["br"], 64, None),
        (BODY, ["zstd"], 64, None),
        (BODY, ["aws-chunked"], 64, None),
    ],
)
def test_content_codings(content: bytes, codings: list[str], within: int, plain: bytes | None) -> None:
    assert decoded(content, codings, within) == plain


@pytest.mark.parametrize(
    ("values", "covered"), [([], False), (["identity"], False), (["gzip"], True), (["", "br"], True)]
)
def test_content_encoding(values: list[str], covered: bool) -> None:
    assert (decoded(BODY, values, 64) != BODY) is covered
