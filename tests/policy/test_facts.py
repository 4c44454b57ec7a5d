"""Request facts: every ambiguity of design.md section 3 as a row, beside what stands; nothing raises anything else."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effectgate.policy.facts import NO_BODY, UNREAD, Body, EnvelopeError, RequestFacts, facts_from_url, read_facts

HOST = (b"Host", b"api.test")
FORM = (b"Content-Type", b"application/x-www-form-urlencoded")


def read(**keys: Any) -> RequestFacts:
    """A plain request, but for what is given."""
    plain: dict[str, Any] = {
        "method": b"GET",
        "scheme": "https",
        "host": "api.test",
        "port": 443,
        "target": b"/a",
        "fields": [HOST],
    }
    return read_facts(**{**plain, **keys})


STANDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "one trailing dot": {"fields": [(b"host", b"API.test.")]},
    "the port said": {"fields": [(b"host", b"api.test:443")]},
    "another port, said": {"port": 8443, "fields": [(b"host", b"api.test:8443")]},
    "authority without Host": {"fields": [], "authority": b"api.test"},
    "authority and Host": {"authority": b"api.test:443"},
    "plain http": {"scheme": "http", "port": 80},
    "an encoded slash": {"target": b"/@s%2fn"},
    "escaped letters": {"target": b"/%61"},
    "parameters": {"target": b"/a;v=1"},
    "empty segments": {"target": b"//a//"},
    "websocket": {"fields": [HOST, (b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]},
    "chunked": {"method": b"POST", "fields": [HOST, (b"Transfer-Encoding", b"chunked")], "body": UNREAD},
    "an odd method": {"method": b"PROPFIND"},
    "a form": {"method": b"POST", "fields": [HOST, FORM], "body": Body(True, b"method=x&a=_method")},
    "a charset without a body": {
        "fields": [HOST, (b"Content-Type", b"application/x-www-form-urlencoded; charset=utf-16")]
    },
    "another body with _method": {"method": b"POST", "fields": [HOST], "body": Body(True, b"_method=x")},
    "IPv6": {"host": "::1", "fields": [(b"host", b"[::1]")]},
    "a query with dots": {"target": b"/a?x=../..&y=%5c"},
    "a header with a comma": {"fields": [HOST, (b"Accept", b"a, b"), (b"Accept", b"c")]},
}

REFUSED: dict[str, dict[str, Any]] = {
    "user information in Host": {"fields": [(b"host", b"x@api.test")]},
    "NUL in Host": {"fields": [(b"host", b"evil\0.api.test")]},
    "no Host": {"fields": []},
    "an empty Host": {"fields": [(b"host", b"")]},
    "two Hosts": {"fields": [HOST, HOST]},
    "another Host": {"fields": [(b"host", b"evil.test")]},
    "another Host with authority": {"fields": [(b"host", b"evil.test")], "authority": b"api.test"},
    "another authority": {"authority": b"evil.test"},
    "another port": {"fields": [(b"host", b"api.test:80")]},
    "the port left out": {"port": 8443},
    "the scheme's port for another scheme": {"scheme": "http", "port": 443},
    "a Host with brackets": {"fields": [(b"host", b"[api.test]")]},
    "a Host with two dots": {"fields": [(b"host", b"api.test..")]},
    "a Host list": {"fields": [(b"host", b"api.test, api.test")]},
    "an unknown scheme": {"scheme": "ftp"},
    "TRACE": {"method": b"TRACE"},
    "trace": {"method": b"trace"},
    "a method in other letters": {"method": b"get"},
    "CONNECT": {"method": b"CONNECT"},
    "a method with a space": {"method": b"GET /"},
    "an empty method": {"method": b""},
    "a method with a byte outside ASCII": {"method": b"G\xc9T"},
    "absolute form": {"target": b"https://api.test/a"},
    "asterisk form": {"target": b"*"},
    "a fragment": {"target": b"/a#b"},
    "a dot segment": {"target": b"/a/../b"},
    "an encoded dot segment": {"target": b"/a/%2e%2e/b"},
    "a dot segment with a parameter": {"target": b"/..;x/a"},
    "NUL": {"target": b"/a%00"},
    "a backslash": {"target": b"/a%5cb"},
    "a doubly encoded slash": {"target": b"/a%252fb"},
    "a bad escape": {"target": b"/a%2"},
    "a bad escape in the query": {"target": b"/a?b=%"},
    "a raw space": {"target": b"/a b"},
    "too many readings": {"target": b"/" * 100},
    "both lengths": {"fields": [HOST, (b"Content-Length", b"1"), (b"Transfer-Encoding", b"chunked")]},
    "two lengths": {"fields": [HOST, (b"Content-Length", b"1"), (b"content-length", b"2")]},
    "a folded line": {"fields": [HOST, (b"X", b"a\r\n b")]},
    "an Upgrade to h2c": {"fields": [HOST, (b"Upgrade", b"h2c")]},
    "a method override": {"fields": [HOST, (b"X-HTTP-Method-Override", b"DELETE")]},
    "a method override for CGI": {"fields": [HOST, (b"X_HTTP_METHOD_OVERRIDE", b"DELETE")]},
    "a path override": {"fields": [HOST, (b"X-Original-URL", b"/admin")]},
    "another path override": {"fields": [HOST, (b"X-Rewrite-URL", b"/admin")]},
    "_method in the query": {"target": b"/a?_method=DELETE"},
    "a form in UTF-16": {
        "method": b"POST",
        "fields": [HOST, (b"Content-Type", b"application/x-www-form-urlencoded; charset=UTF-16LE")],
        "body": Body(True, b"_\0m\0e\0t\0h\0o\0d\0=\0"),
    },
    "a form in UTF-7, not held": {
        "method": b"POST",
        "fields": [HOST, (b"Content-Type", b'application/x-www-form-urlencoded;Charset = "utf-7"')],
        "body": UNREAD,
    },
    "a form in EBCDIC": {
        "method": b"POST",
        "fields": [HOST, (b"Content-Type", b"application/x-www-form-urlencoded; charset=ibm037")],
        "body": UNREAD,
    },
    "a form by PHP's reading of its type": {
        "method": b"POST",
        "fields": [HOST, (b"Content-Type", b"application/x-www-form-urlencoded, x")],
        "body": Body(True, b"a=1"),
    },
    "a form whose coding hides it": {
        "method": b"POST",
        "fields": [HOST, FORM, (b"Content-Encoding", b"br")],
        "body": Body(True, b"a=1"),
    },
    "_method in a compressed form": {
        "method": b"POST",
        "fields": [HOST, FORM, (b"Content-Encoding", b"gzip")],
        "body": Body(True, gzip.compress(b"_method=DELETE", mtime=0)),
    },
    "_method up to a NUL": {"method": b"POST", "fields": [HOST, FORM], "body": Body(True, b"_method%00x=DELETE")},
    "_method in a form": {"method": b"POST", "fields": [HOST, FORM], "body": Body(True, b"a=1&_method=DELETE")},
    "_method in a form, escaped": {"method": b"POST", "fields": [HOST, FORM], "body": Body(True, b"%5Fm%65thod=DELETE")},
}  # fmt: skip


@pytest.mark.parametrize("keys", STANDS.values(), ids=STANDS)
def test_stands(keys: dict[str, Any]) -> None:
    facts = read(**keys)
    assert facts.port == keys.get("port", 443)
    assert facts.encoded_slash is (b"%2f" in keys.get("target", b""))


@pytest.mark.parametrize("keys", REFUSED.values(), ids=REFUSED)
def test_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(EnvelopeError) as refused:
        read(**keys)
    assert str(refused.value).endswith(".")


def test_what_stands_is_at_least_a_quarter() -> None:
    assert len(STANDS) * 4 >= len(STANDS) + len(REFUSED)


def test_a_body_is_read_later_and_checked_then() -> None:
    facts = read(method=b"POST", fields=[HOST, FORM], body=UNREAD)
    assert facts.with_body(b"a=1").form_table is not None
    assert facts.with_body(None).form_table is None
    assert facts.with_body(b"").body == NO_BODY
    with pytest.raises(EnvelopeError):
        facts.with_body(b"_method=DELETE")


URLS = {
    "https://api.test/a?b": True,
    "HTTPS://API.TEST./a": True,
    "http://api.test:8080": True,
    "wss://api.test/ws": True,
    "https://[::1]:8443/": True,
    "https://api.test?x=1": True,
    "https://user@api.test/": False,
    "https://a\\@b.test/": False,
    "https://api.test\\@evil.test/": False,
    "https:///a": False,
    "https://": False,
    "//api.test/": False,
    "/a": False,
    "ftp://api.test/": False,
    "https://api.test:443:443/": False,
    "https://api.test/#x": False,
    "https://api.test#x": False,
    "https://api.test/\u00fc": False,
    "https://api.test/\u20ac": False,
    "https://\u0430pi.test/": False,
    "https://127.1/": False,
    " https://api.test/": False,
}


@pytest.mark.parametrize(("url", "stands"), URLS.items())
def test_urls(url: str, stands: bool) -> None:
    if stands:
        facts_from_url("GET", url)
    else:
        with pytest.raises(EnvelopeError):
            facts_from_url("GET", url)


def url_of(facts: RequestFacts) -> str:
    """The URL that a person would write for it."""
    return f"{facts.scheme}://{facts.url}" + ("" if facts.query is None else f"?{facts.query}")


TARGETS = st.text("/aA;%2fF5cCe.?&=_+#\\ü~", max_size=14).map(lambda text: f"/{text}".encode("latin-1"))
NAMES = st.sampled_from(
    (b"Host", b"X", b"Content-Length", b"Transfer-Encoding", b"Upgrade", b"Content-Type", b"X-HTTP-Method", b"bad name")
)
FIELDS = st.lists(
    st.tuples(
        NAMES | st.binary(max_size=5),
        st.sampled_from((b"api.test", b"1", b"chunked", b"websocket")) | st.binary(max_size=6),
    )
)


@settings(max_examples=500, deadline=None)
@given(
    st.binary(max_size=6) | st.just(b"GET"),
    TARGETS | st.binary(max_size=12),
    FIELDS,
    st.none() | st.binary(max_size=12),
)
def test_any_bytes_are_facts_or_an_envelope_error(
    method: bytes, target: bytes, fields: list[tuple[bytes, bytes]], body: bytes | None
) -> None:
    held = NO_BODY if body is None else Body(True, body)
    try:
        facts = read(method=method, target=target, fields=[HOST, *fields], body=held)
    except EnvelopeError:
        return
    assert facts.query_table is None or facts.query_table
    assert facts.header("host") == ("api.test",)
    assert facts.form_table is None or facts.form_table


@settings(max_examples=500, deadline=None)
@given(
    st.text(max_size=8),
    st.text(max_size=30) | st.text("htps:/[]@.a1%?#\\", max_size=30).map("https://".__add__),
    st.text(max_size=6),
)
def test_any_text_is_facts_or_an_envelope_error(method: str, url: str, value: str) -> None:
    try:
        facts_from_url(method, url, [("X", value)])
    except EnvelopeError:
        return


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(("http", "https")), st.sampled_from(("api.test", "[2001:db8::1]", "192.0.2.7:8443")), TARGETS)
def test_facts_to_url_and_back(scheme: str, authority: str, target: bytes) -> None:
    try:
        facts = facts_from_url("GET", f"{scheme}://{authority}{target.decode('latin-1')}")
    except EnvelopeError:
        return
    again = facts_from_url("GET", url_of(facts))
    assert again == facts


@pytest.mark.parametrize("content", [None, b"a=1"])
def test_a_form_is_refused_for_its_charset_whenever_its_body_comes(content: bytes | None) -> None:
    """`explain` and the proxy give facts their body at different times."""
    kind = ("content-type", "application/x-www-form-urlencoded; charset=utf-16")
    facts = facts_from_url("POST", "https://api.test/", [kind])
    with pytest.raises(EnvelopeError, match="charset"):
        facts.with_body(content)
