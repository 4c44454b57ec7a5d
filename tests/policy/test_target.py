"""Request targets: what is decoded once, and what servers read in two ways and is refused."""

from __future__ import annotations

import pytest

from effectgate.policy.authority import EnvelopeError
from effectgate.policy.target import MAX_ENCODED_SLASHES, MAX_PATH, check_query, decode_segments, split_target


@pytest.mark.parametrize(
    ("raw", "path", "query"),
    [
        (b"", "/", None),
        (b"/", "/", None),
        (b"?x=1", "/", "x=1"),
        (b"/a?", "/a", ""),
        (b"/a?b?c", "/a", "b?c"),
        (b"/a;v=1?b=/c", "/a;v=1", "b=/c"),
        (b"//a//", "//a//", None),
    ],
)
def test_split(raw: bytes, path: str, query: str | None) -> None:
    assert split_target(raw) == (path, query)


@pytest.mark.parametrize(
    "raw", [b"a", b"*", b"http://a/", b"/a#b", b"/a?b#c", b"/a b", b"/a\tb", b"/\xc3\xbc", b"/a\0", b"/a\r\n", b"/\x7f"]
)
def test_split_refuses(raw: bytes) -> None:
    with pytest.raises(EnvelopeError):
        split_target(raw)


@pytest.mark.parametrize(
    ("path", "segments"),
    [
        ("/", ("",)),
        ("/a/b", ("a", "b")),
        ("/a/", ("a", "")),
        ("//a", ("", "a")),
        ("/%61%2D%7e", ("a-~",)),
        ("/%E2%82%AC", ("€",)),
        ("/a%2fb%2Fc", ("a%2Fb%2Fc",)),
        ("/a%20b", ("a b",)),
        ("/a%3Bv", ("a;v",)),
        ("/100%25", ("100%",)),
        ("/a%2561", ("a%61",)),
        ("/...", ("...",)),
        ("/.a/b.", (".a", "b.")),
        ("/.well-known/x", (".well-known", "x")),
        ("/a..b", ("a..b",)),
        ("/@scope%2fname", ("@scope%2Fname",)),
        ("/%25252x", ("%252x",)),
        ("/%2525%252541", ("%25%2541",)),
        ("/a%EF%BC%8Fb%EF%BC%9B", ("a／b；",)),
    ],
)
def test_decoded_once(path: str, segments: tuple[str, ...]) -> None:
    assert decode_segments(path) == segments


AMBIGUOUS = {
    "dot segments": ["/.", "/..", "/a/./b", "/a/../b", "/../a", "/a/..", "/a/."],
    "encoded dot segments": ["/%2e", "/%2E%2e/a", "/.%2e/a", "/%2e./a", "/a/%2e%2e", "/%2e/"],
    "dot segments with parameters": ["/..;x", "/..;/a", "/a/.;v=1/b", "/%2e%2e;x/a", "/..%3bx/a", "/..;x;y/"],
    "dot segments beside an encoded slash": ["/a%2f..%2fb", "/..%2fb", "/a%2F.%2Fb", "/a%2f%2e%2e"],
    "dot segments in other letters": ["/%E2%80%A5/a", "/%EF%BC%8E%EF%BC%8E/a", "/%E2%80%A4/a", "/%EF%BC%8E./a"],
    "NUL and controls": ["/a%00", "/%00a", "/a%0a", "/a%0D%0Ab", "/a%1f", "/a%7f", "/a%09b"],
    "backslash": ["/a\\b", "/a%5cb", "/a%5Cb", "/..\\..\\a", "/%5c%5cevil.test"],
    "doubly encoded": ["/%252e%252e/a", "/a%252fb", "/a%255cb", "/a%2500", "/%252E", "/a%25%32%66b", "/%25%32%65%25%32%65", "/a%25%30%30"],
    "encoded more often": ["/%25252e", "/%2525252f", "/a%25255c", "/%25%2532e", "/%25%32%352f", "/a%25%2535c"],
    "dot segments between other letters": ["/a%EF%BC%8F..%EF%BC%8Fb", "/..%EF%BC%BCb", "/..%EF%BC%9Bx/a", "/%EF%BC%8E.%EF%BC%8Fa", "/..%EF%B9%94x"],
    "doubly encoded in other letters": ["/%EF%BC%852e", "/a%EF%BC%85%EF%BC%92f"],
    "bad escapes": ["/%", "/%2", "/%zz", "/a%2xb", "/%u002e", "/100%", "/%%32%65"],
    "not UTF-8": ["/%ff", "/%c0%ae", "/%c0%af", "/%ed%a0%80", "/%e2%82", "/%80"],
    "too long": ["/" + "a" * MAX_PATH, "/a" + "%2f" * (MAX_ENCODED_SLASHES + 1)],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in AMBIGUOUS.items() for path in paths])
def test_refused_as_ambiguous(kind: str, path: str) -> None:
    with pytest.raises(EnvelopeError):
        decode_segments(path)


@pytest.mark.parametrize(
    "query",
    [None, "", "a=1", "method=DELETE", "a_method=x", "x=_method", "a=%2e%2e", "a=..%2f", "m%65thod=x", "a=1&b=%5c", "_methods=1", "a=%ff"],
)  # fmt: skip
def test_queries_that_stand(query: str | None) -> None:
    check_query(query)


@pytest.mark.parametrize(
    "query",
    ["_method=DELETE", "a=1&_method=PUT", "_METHOD=x", "%5fmethod=x", "_m%65thod=x", "+_method=x", "_method", "%20_method%20=x",
     "a=1;_method=DELETE", ".method=DELETE", "%5Bmethod=DELETE", "a=%", "a=%zz", "a%=1", "a=%00", "%00=a"],
)  # fmt: skip
def test_queries_refused(query: str) -> None:
    with pytest.raises(EnvelopeError):
        check_query(query)
