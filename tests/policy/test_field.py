"""Header and form fields: framing, overrides, and the tables that discriminators read."""

from __future__ import annotations

import pytest

from effectgate.policy import field
from effectgate.policy.authority import EnvelopeError

FRAMED_TWICE = {
    "two lengths": [("Content-Length", "1"), ("Content-Length", "1")],
    "two lengths in one field": [("Content-Length", "1, 1")],
    "length and coding": [("Content-Length", "1"), ("Transfer-Encoding", "chunked")],
    "two codings": [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")],
    "a coding before chunked": [("Transfer-Encoding", "gzip, chunked")],
    "a coding that is not chunked": [("Transfer-Encoding", "identity")],
    "a coding in disguise": [("Transfer-Encoding", "\x0bchunked")],
    "a length with a sign": [("Content-Length", "+1")],
    "a length in hex": [("Content-Length", "0x1")],
    "a negative length": [("Content-Length", "-1")],
    "an empty length": [("Content-Length", "")],
    "a length in other digits": [("Content-Length", "\xb9")],
    "two content types": [("Content-Type", "text/plain"), ("Content-Type", field.FORM)],
    "a space before the colon": [("Transfer-Encoding ", "chunked")],
    "a name with a tab": [("X\tY", "1")],
    "an empty name": [("", "1")],
    "a name that is not ASCII": [("X-\xe9", "1")],
    "a folded line": [("X", "a\r\n b")],
    "CR": [("X", "a\rb")],
    "LF": [("X", "a\nb")],
    "NUL": [("X", "a\0b")],
    "a vertical tab": [("X", "a\x0bb")],
    "DEL": [("X", "a\x7fb")],
    "h2c": [("Upgrade", "h2c")],
    "TLS": [("Upgrade", "TLS/1.2")],
    "two upgrades": [("Upgrade", "websocket"), ("Upgrade", "websocket")],
    "an upgrade list": [("Upgrade", "websocket, h2c")],
    "an empty upgrade": [("Upgrade", "")],
}


def read(*fields: tuple[str, str]) -> field.Headers:
    return field.read_fields([(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields])


@pytest.mark.parametrize("fields", FRAMED_TWICE.values(), ids=FRAMED_TWICE)
def test_fields_refused(fields: list[tuple[str, str]]) -> None:
    with pytest.raises(EnvelopeError):
        read(*fields)


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ([("X-A", " b\t")], (("x-a", "b"),)),
        ([("X", "a\tb")], (("x", "a\tb"),)),
        ([("X", "\xe9")], (("x", "\xe9"),)),
        ([("X", ""), ("X", "2")], (("x", ""), ("x", "2"))),
        ([("Content-Length", "0012")], (("content-length", "0012"),)),
        ([("Transfer-Encoding", "Chunked")], (("transfer-encoding", "Chunked"),)),
        ([("Upgrade", "WebSocket")], (("upgrade", "WebSocket"),)),
        ([("Content-Type", "a/b")], (("content-type", "a/b"),)),
    ],
)
def test_fields_kept(fields: list[tuple[str, str]], kept: field.Headers) -> None:
    assert read(*fields) == kept
    assert field.is_websocket(kept) is any(name == "upgrade" for name, _ in kept)


@pytest.mark.parametrize(
    "name", sorted({*field.OVERRIDES, "X_HTTP_Method_Override", "x-http_method-override", "X_Original_URL"})
)
def test_overrides_refused(name: str) -> None:
    with pytest.raises(EnvelopeError):
        field.refuse_overrides(read((name, "DELETE")))


@pytest.mark.parametrize(
    ("value", "stands"),
    [
        ("for=192.0.2.1;proto=https", True),
        ("by=hostess", True),
        ("host=evil.test", False),
        ("for=192.0.2.1; Host = evil.test", False),
        ("for=a, for=b;host=evil.test", False),
    ],
)
def test_forwarded_may_not_name_a_host(value: str, stands: bool) -> None:
    if stands:
        field.refuse_overrides(read(("Forwarded", value)))
    else:
        with pytest.raises(EnvelopeError):
            field.refuse_overrides(read(("Forwarded", value)))


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("_method=DELETE", False),
        ("a=1&_HttpMethod=PATCH", False),
        ("x-http-method-override=DELETE", False),
        ("X%2DHTTP-Method=DELETE", False),
        ("_method[]=DELETE", False),
        ("method=flickr.photos.search", True),
        ("http_method=GET", True),
        ("a=_method", True),
        ("override=1", True),
    ],
)
def test_method_fields(text: str, stands: bool) -> None:
    if stands:
        field.refuse_method_field(text)
    else:
        with pytest.raises(EnvelopeError):
            field.refuse_method_field(text)


@pytest.mark.parametrize("name", ["x-forwarded-for", "x-http", "method", "x-url", "x-amz-target", "origin"])
def test_other_headers_stand(name: str) -> None:
    field.refuse_overrides(read((name, "DELETE")))


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["Text/HTML; charset=x"], "text/html"), ([], ""), (["a/b", "c/d"], ""), ([" a/b "], "a/b"), ([";"], "")],
)
def test_media_type(values: list[str], kind: str) -> None:
    assert field.media_type(values) == kind


@pytest.mark.parametrize(
    ("text", "name", "exact", "folded"),
    [
        ("a=1", "a", {"1"}, {"1"}),
        ("a=1&a=1", "a", {"1"}, {"1"}),
        ("a=1&a=2", "a", {"1", "2"}, {"1", "2"}),
        ("a=1&A=2", "a", {"1"}, {"1", "2"}),
        ("A=2", "a", set(), {"2"}),
        ("a", "a", {""}, {""}),
        ("a=", "a", {""}, {""}),
        ("%61=%31+2", "a", {"1 2"}, {"1 2"}),
        ("a=%2531", "a", {"%31"}, {"%31"}),
        ("a=b=c", "a", {"b=c"}, {"b=c"}),
        ("&&a=1&", "a", {"1"}, {"1"}),
        ("a=1;a=2", "a", {"1;a=2", "2"}, {"1", "1;a=2", "2"}),
        ("b=1;a=2", "a", set(), {"2"}),
        ("a=1;", "a", {"1;"}, {"1", "1;"}),
        (";a=1", "a", set(), {"1"}),
        ("a=text/html;charset=x", "a", {"text/html;charset=x"}, {"text/html", "text/html;charset=x"}),
        ("a=1%3Ba=2", "a", {"1;a=2"}, {"1;a=2"}),
        ("a=%E2%82%AC", "a", {"€"}, {"€"}),
        ("", "a", set(), set()),
    ],
)
def test_tables(text: str, name: str, exact: set[str], folded: set[str]) -> None:
    table = field.table(text)
    assert table is not None
    assert (set(table.values(name, False)), set(table.values(name, True))) == (exact, folded)


@pytest.mark.parametrize("text", ["a=%ff", "%c0%af=1", "a=%", "a=%zz", "a=1;b=%ff"])
def test_unreadable_tables(text: str) -> None:
    assert field.table(text) is None


def test_a_form_outside_ascii_is_unreadable() -> None:
    assert field.table_of_bytes("a=ü".encode()) is None
    assert field.table_of_bytes(b"a=1") is not None
