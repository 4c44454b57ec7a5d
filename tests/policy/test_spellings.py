"""The canonicaliser under Hypothesis: bytes in, facts or EnvelopeError out, one reading, and no other spelling let through.

The second opinion (`fuzz.naive`, `fuzz.realm`) is the fuzzer's: there the bytes are found by coverage, here they are built.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from effectgate.explanation import Explainer, read_question
from effectgate.policy import field, target
from effectgate.policy.authority import EnvelopeError, parse_authority, parse_host
from effectgate.policy.decision import DEFAULT_PORTS
from effectgate.policy.facts import RequestFacts
from effectgate.policy.fault import PatternError
from effectgate.policy.path import PathPattern
from effectgate.policy.segment import Segment
from fuzz import realm
from fuzz.facts import check, read
from fuzz.raw import Raw
from policy.build import NOW, ask

laws = settings(max_examples=200, deadline=None)
many = settings(max_examples=600, deadline=None)

# ---- requests from pieces: each odd on its own, and in any company ----

HOST = b"api.test"
PIECES = (
    b"/", b"/items/7", b"/items/", b"admin", b"/drop", b"/owners/acme/", b"/purge", b"/pkg/@acme", b"/search", b"/live", b"7", b"A",
    b"//", b"/.", b"..", b".", b";", b";x=1", b"%2f", b"%2F", b"%2e", b"%41", b"%61", b"%3b", b"%25", b"%252f", b"%00", b"%5c",
    b"%c3%a4", b"%EF%BC%8E", b"%EF%BC%8F", b"%ff", b"%", b"?q=a", b"?", b"&page=2", b"&mode=x", b"?_method=x", b"+", b"#", b" ",
)  # fmt: skip
HEADERS = (
    (b"Host", HOST), (b"host", b"API.test."), (b"Host", b"api.test:443"), (b"Host", b"evil.test"), (b"Host", b"api.test:80"),
    (b"Accept", b"*/*"), (b"X-A", b"\tb\x01"), (b"X-A", b"b\r\nc"), (b"X a", b"1"), (b"Content-Length", b"4"),
    (b"Content-Length", b"+4"), (b"Transfer-Encoding", b"chunked"), (b"Transfer-Encoding", b"gzip"), (b"Upgrade", b"websocket"),
    (b"Upgrade", b"h2c"), (b"X-HTTP-Method-Override", b"DELETE"), (b"X_Original_URL", b"/"), (b":authority", HOST),
    (b"Content-Type", b"application/x-www-form-urlencoded"), (b"Content-Type", b"text/plain"), (b"Content-Encoding", b"gzip"),
)  # fmt: skip
WHERE = (HOST, HOST, HOST, b"API.TEST.:443", b"api.test:8443", b"[::1]", b"127.1", b"u@api.test", b"api.test..")
BODIES = (b"", b"", b"Action=List", b"Action=Drop", b"Action=List&Action=Drop", b"_method=x", b"a=%ff", b"\xff")

TARGETS = st.lists(st.sampled_from(PIECES), max_size=5).map(b"".join)
REQUESTS = st.builds(
    Raw,
    st.sampled_from((b"GET", b"GET", b"HEAD", b"POST", b"DELETE", b"TRACE", b"get", b"G T")),
    st.sampled_from(("https", "https", "https", "http", "ftp")),
    st.sampled_from(WHERE),
    TARGETS.map(b"/".__add__) | TARGETS,
    st.lists(st.sampled_from(HEADERS), max_size=3).map(lambda more: ((b"Host", HOST), *more))
    | st.lists(st.sampled_from(HEADERS), max_size=3).map(tuple),
    st.sampled_from(BODIES),
)


@many
@given(REQUESTS)
def test_facts_round_trip_and_agree_with_a_second_reading(raw: Raw) -> None:
    """facts -> bytes -> facts; from a URL the same; refused where the second reading refuses; admitted where it is meant."""
    check(raw.text)


def has_a_url(raw: Raw) -> bool:
    """Whether a URL can say the same: one has a Host, and a target without a slash would go on in the host (`api.test` and `.`)."""
    named = any(name.lower() == b"host" for name, _ in raw.fields)
    return named and raw.pseudo is None and raw.target[:1] in (b"", b"/", b"?", b"#")


def held(raw: Raw) -> RequestFacts | None:
    """The facts as the proxy has them: it reads the head, and the body only where a candidate shape asks (else all is refused)."""
    head = read(replace(raw, body=b""))
    if head is None or not raw.body:
        return head
    unread = head.with_body(None)
    return read(raw) if realm.CATALOG.inspect_bytes(unread) else unread


UNASKED_FORM = ((b"Host", HOST), (b"Content-Type", b"application/x-www-form-urlencoded"))


@laws
@example(Raw(b"GET", "https", HOST, b"/", UNASKED_FORM, b"_method=x"))  # no shape of this path: the form is not read
@example(
    Raw(b"POST", "https", HOST, b"/", UNASKED_FORM, b"_method=x")
)  # a shape asks for it: no request of one reading
@given(REQUESTS.filter(has_a_url))
def test_the_wire_and_explain_give_one_answer(raw: Raw) -> None:
    line = {
        "method": raw.method.decode("latin-1"),
        "url": f"{raw.scheme}://{raw.where.decode()}{raw.target.decode('latin-1')}",
        "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in raw.fields],
        "body": "" if raw.body == b"\xff" else raw.body.decode(),
    }
    explained = Explainer(realm.CATALOG, DEFAULT_PORTS).explain(
        read_question(json.dumps(line).encode()), realm.GRANT, NOW
    )
    facts = held(replace(raw, body=line["body"].encode()))
    if facts is None:
        assert explained.reason_code == "ENVELOPE_INVALID"
    else:
        assert replace(explained, reason="") == replace(ask(realm.CATALOG, realm.GRANT, facts), reason="")


# ---- other spellings of one request ----

PLAIN = (
    "GET /items/7", "HEAD /items/7", "GET /items/admin", "HEAD /items/admin", "GET /items/7/drop", "POST /items/7/drop",
    "DELETE /items/7", "GET /owners/acme/list", "GET /owners/acme/a/b", "GET /owners/acme/purge", "GET /owners/evil/list",
    "GET /owners/evil/purge", "GET /pkg/@acme%2Fleft", "GET /pkg/@evil%2Fleft", "GET /search?q=a", "GET /search?q=a&page=2",
    "GET /search?q=a&mode=delete", "GET /live", "GET /other", "POST /",
)  # fmt: skip


def plain(text: str) -> Raw:
    """One of them as it stands on the wire."""
    method, _, rest = text.partition(" ")
    return Raw(method.encode(), "https", b"api.test:443", rest.encode(), ((b"Host", HOST),))


def _split(raw: Raw) -> tuple[bytes, bytes]:
    path, mark, query = raw.target.partition(b"?")
    return path, mark + query


def on_path(change: Callable[[bytes, int], bytes]) -> Callable[[Raw, int], Raw]:
    """A change of the path at one place."""

    def changed(raw: Raw, seed: int) -> Raw:
        path, query = _split(raw)
        return replace(raw, target=change(path, seed % len(path)) + query)

    return changed


def escaped(path: bytes, at: int) -> bytes:
    """One character percent-encoded, whichever it is, in either case of its digits."""
    if b"%" in path[max(0, at - 2) : at + 1]:
        return path
    text = b"%%%02x" % path[at] if at % 2 else b"%%%02X" % path[at]
    return path[:at] + text + path[at + 1 :]


def slash(path: bytes, at: int, text: bytes) -> bytes:
    """Something in the place of, or beside, the slash nearest before this place."""
    at = path.rfind(b"/", 0, at + 1)
    return path[:at] + text + path[at + 1 :]


def headed(name: bytes, value: bytes) -> Callable[[Raw, int], Raw]:
    """Another spelling of the Host."""
    return lambda raw, seed: replace(raw, fields=((name, value), *raw.fields[1:]))


# Those that change nothing at all, and those that some server takes for nothing.
SAME: dict[str, Callable[[Raw, int], Raw]] = {
    "host in capitals": headed(b"host", b"API.Test"),
    "a trailing dot": headed(b"Host", b"api.test."),
    "the port said": headed(b"HOST", b"api.test:443"),
    "white space around the host": headed(b"Host", b" api.test\t"),
    "the connection in other letters": lambda raw, seed: replace(raw, where=b"Api.TEST.:443"),
    "a letter escaped": on_path(lambda path, at: escaped(path, at) if path[at : at + 1].isalnum() else path),
}
ANOTHER: dict[str, Callable[[Raw, int], Raw]] = {
    **SAME,
    "any character escaped": on_path(escaped),
    "a letter in the other case": on_path(lambda path, at: path[:at] + path[at : at + 1].swapcase() + path[at + 1 :]),
    "two slashes": on_path(lambda path, at: slash(path, at, b"//")),
    "an escaped slash": on_path(lambda path, at: slash(path, at, b"%2f")),
    "a slash at the end": on_path(lambda path, at: path + b"/"),
    "parameters at the end": on_path(lambda path, at: path + b";v=1"),
    "parameters inside": on_path(lambda path, at: slash(path, at, b";v=1/")),
    "a segment of parameters": on_path(lambda path, at: slash(path, at, b"/;v/")),
    "a dot segment": on_path(lambda path, at: slash(path, at, b"/./")),
    "a way down and up": on_path(lambda path, at: slash(path, at, b"/x/../")),
    "a slash of full width": on_path(lambda path, at: slash(path, at, "／".encode())),
    "a slash escaped twice": on_path(lambda path, at: slash(path, at, b"%252f")),
    "a backslash": on_path(lambda path, at: slash(path, at, b"\\")),
    "an empty query": lambda raw, seed: replace(raw, target=raw.target + (b"" if b"?" in raw.target else b"?")),
}


@many
@given(
    st.sampled_from(PLAIN),
    st.lists(st.tuples(st.sampled_from(sorted(ANOTHER)), st.integers(0, 60)), min_size=1, max_size=4),
)
def test_no_other_spelling_is_admitted_where_the_plain_one_is_not(text: str, changes: list[tuple[str, int]]) -> None:
    raw = plain(text)
    for name, seed in changes:
        raw = ANOTHER[name](raw, seed)
    facts = read(raw)
    if facts is not None and ask(realm.CATALOG, realm.GRANT, facts).allowed:
        note(f"{raw}")
        before = read(plain(text))
        assert before is not None
        assert ask(realm.CATALOG, realm.GRANT, before).allowed


@laws
@given(
    st.sampled_from(PLAIN),
    st.lists(st.tuples(st.sampled_from(sorted(SAME)), st.integers(0, 60)), min_size=1, max_size=4),
)
def test_escaped_letters_and_the_spelling_of_the_host_change_nothing(text: str, changes: list[tuple[str, int]]) -> None:
    raw = plain(text)
    for name, seed in changes:
        raw = SAME[name](raw, seed)
    before, after = read(plain(text)), read(raw)
    assert before is not None
    assert after is not None
    assert (after.host, after.port, after.segments) == (before.host, before.port, before.segments)
    mine, its = (ask(realm.CATALOG, realm.GRANT, facts) for facts in (before, after))
    assert replace(mine, reason="") == replace(its, reason="")


def test_half_of_the_plain_ones_are_admitted() -> None:
    found = [read(plain(text)) for text in PLAIN]
    admitted = [
        text
        for text, facts in zip(PLAIN, found, strict=True)
        if facts and ask(realm.CATALOG, realm.GRANT, facts).allowed
    ]
    assert admitted == [PLAIN[0], PLAIN[1], PLAIN[7], PLAIN[8], PLAIN[12], *PLAIN[14:16], PLAIN[17]]


# ---- the parts by themselves ----

TEXT = st.text(max_size=24) | st.text("aA0./:[]%25fFx@\\;{}* ", max_size=24)
BYTES = st.binary(max_size=24) | TEXT.map(lambda text: text.encode("utf-8", "surrogatepass"))
PARTS: dict[str, Callable[[bytes], object]] = {
    "authority": lambda data: parse_authority(data.decode("latin-1"), 443),
    "host": lambda data: parse_host(data.decode("latin-1")),
    "target": target.split_target,
    "path": lambda data: target.decode_segments(target.split_target(b"/" + data)[0]),
    "query": lambda data: target.check_query(target.split_target(b"?" + data)[1]),
    "fields": lambda data: field.read_fields([(b"x", data), (data, b"x")]),
    "form": field.table_of_bytes,
    "method field": lambda data: field.refuse_method_field(data.decode("latin-1")),
}


@pytest.mark.parametrize("part", PARTS)
@laws
@given(data=BYTES)
def test_no_bytes_raise_anything_but_an_envelope_error(part: str, data: bytes) -> None:
    try:
        PARTS[part](data)
    except EnvelopeError as error:
        said = str(error)
        assert said.endswith("."), said


@laws
@given(TEXT, st.booleans())
def test_no_text_of_a_pattern_raises_anything_but_a_pattern_error(text: str, fold: bool) -> None:
    try:
        pattern = PathPattern.parse(text, fold)
    except PatternError:
        return
    assert PathPattern.parse(pattern.text, fold) == pattern
    assert pattern.included(pattern)


@laws
@given(st.lists(st.text(string.ascii_letters + "._-~ä€;!", max_size=6), min_size=1, max_size=4), st.booleans())
def test_decoding_is_undone_by_encoding_and_a_path_matches_itself(segments: list[str], slashed: bool) -> None:
    joined = tuple([*segments, "a%2Fb"] if slashed else segments)
    path = "/" + "/".join("%2F".join(quote(piece, safe="") for piece in segment.split("%2F")) for segment in joined)
    try:
        decoded = target.decode_segments(path)
    except EnvelopeError:
        assert any(segment.partition(";")[0] in (".", "..") for segment in segments)
        return
    assert decoded == joined
    assert PathPattern.parse("/" + "/".join(decoded)).match(decoded) == {}


@laws
@given(st.text("ab.-", max_size=3), st.text("abcAB.;€", min_size=1, max_size=4), st.text("ab.-", max_size=3))
def test_a_parameter_takes_what_stands_between_its_affixes(prefix: str, value: str, suffix: str) -> None:
    segment = Segment.parse("/", f"{prefix}{{x}}{suffix}")
    assert segment.value(prefix + value + suffix) == value
    assert segment.value(prefix + suffix) is None


@laws
@given(st.sampled_from(WHERE) | st.text("aA1.-:[]", max_size=12).map(str.encode))
def test_the_normal_form_of_a_host_is_its_own(where: bytes) -> None:
    try:
        one = parse_authority(where.decode(), 443)
    except EnvelopeError:
        return
    shown = f"[{one.host}]" if ":" in one.host else one.host
    assert parse_authority(f"{shown}:{one.port}", None) == one


@laws
@given(st.lists(st.sampled_from(HEADERS), max_size=4))
def test_fields_that_were_read_are_read_again_as_they_are(fields: list[tuple[bytes, bytes]]) -> None:
    try:
        once = field.read_fields(fields)
    except EnvelopeError:
        return
    assert field.read_fields([(name.encode(), value.encode()) for name, value in once]) == once
