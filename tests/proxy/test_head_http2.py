"""Each way in which an HTTP/2 head is malformed has words of its own: a new wording of h2's would show here."""

from __future__ import annotations

import pytest

from effectgate.proxy.head_http2 import request_fault, trailer_fault

GOOD = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"a.test"), (b":path", b"/")]
CONNECT = (b":method", b"CONNECT")


def without(name: bytes) -> list[tuple[bytes, bytes]]:
    return [field for field in GOOD if field[0] != name]


FAULTS = [
    ([*GOOD, (b"X-A", b"b")], "upper case"),
    ([*GOOD, (b"", b"b")], "without a name"),
    ([*GOOD, (b"x-a", b" b")], "white space"),
    ([*GOOD, (b":path", b"/")], "twice"),
    ([(b"x-a", b"b"), *GOOD], "after a header"),
    ([*GOOD, (b":protocol", b"websocket")], "does not belong"),
    ([*GOOD, (b":status", b"200")], "does not belong"),
    ([*GOOD, (b":foo", b"b")], "does not exist"),
    ([CONNECT, *GOOD[1:]], "with :scheme or :path"),
    ([CONNECT, GOOD[2]], "CONNECT, which no tunnel takes"),
    ([CONNECT, (b":protocol", b"websocket"), *GOOD[1:]], "CONNECT, which no tunnel takes"),
    (without(b":method"), "no :method"),
    (without(b":scheme"), "no :method, :scheme or :path"),
    (without(b":path"), "no :method, :scheme or :path"),
    ([*without(b":path"), (b":path", b"")], "an empty :path"),
    ([*GOOD, (b"host", b"a.test"), (b"host", b"a.test")], "several Host"),
    (without(b":authority"), "neither :authority nor Host"),
    ([*GOOD, (b"host", b"b.test")], "differs from :authority"),
    ([*GOOD, (b"connection", b"close")], "HTTP/1 connections"),
    ([*GOOD, (b"te", b"gzip")], "TE other than"),
    ([*GOOD, (b"x-a", b"b\rc")], "no header may have"),
    ([*GOOD, (b"x-\xe4", b"b")], "no header may have"),
    ([*without(b":authority"), (b":authority", b"u@a.test")], "no valid authority"),
]


@pytest.mark.parametrize(("fields", "says"), FAULTS)
def test_a_malformed_request_head(fields: list[tuple[bytes, bytes]], says: str) -> None:
    assert says in request_fault(fields)


@pytest.mark.parametrize(
    "more", [[], [(b"te", b"trailers")], [(b"x-a", b"b\tc")], [(b"x-a", b"")], [(b"host", b"a.test")]]
)
def test_a_good_request_head(more: list[tuple[bytes, bytes]]) -> None:
    assert request_fault([*GOOD, *more]) == ""


@pytest.mark.parametrize(
    "field", [(b":path", b"/denied"), (b"x-a", b"b\r\nc"), (b"X-A", b"b"), (b"connection", b"close")]
)
def test_malformed_trailers(field: tuple[bytes, bytes]) -> None:
    assert "trailers" in trailer_fault([(b"x-t", b"1"), field])


def test_good_trailers() -> None:
    assert trailer_fault([(b"x-t", b"1"), (b"grpc-status", b"0")]) == ""


def test_nothing_of_the_client_is_repeated() -> None:
    assert "secret" not in request_fault([*GOOD, (b"x-secret", b"secret\r")])
