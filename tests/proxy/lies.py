"""What origins answer that is no honest response: the bytes, what the agent gets, and what the completion receipt says."""

from __future__ import annotations

from dataclasses import dataclass

OK = b"HTTP/1.1 200 OK\r\n"
END = b"Content-Length: 2\r\n\r\nok"
GOOD = OK + END
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Lie:
    """`status` 0: the response breaks off. `error` is the kind in the completion. `hangs` is for origins that stay open."""

    sends: bytes
    status: int = 502
    error: str = "response"
    closes: bool = False  # the origin closes after it; else it waits for the next request
    body: bytes = b"ok"  # where the status is the origin's


def refused(**sends: bytes) -> dict[str, Lie]:
    """Lies that are told as 502."""
    return {name.replace("_", " "): Lie(data) for name, data in sends.items()}


STATUS_LINES = refused(
    HTTP_0_9=b"hello\r\n",
    a_page_without_a_head=b"<html>hello</html>",
    a_server_that_speaks_SSH=b"SSH-2.0-OpenSSH_9.9\r\n",
    an_HTTP_2_preface=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    HTTP_2_in_a_status_line=b"HTTP/2 200 OK\r\n" + END,
    HTTP_3_7=b"HTTP/3.7 200 OK\r\n" + END,
    a_line_before_the_status_line=b"\r\n" + GOOD,
    status_000=b"HTTP/1.1 000 OK\r\n" + END,
    status_99=b"HTTP/1.1 99 OK\r\n" + END,
    status_2000=b"HTTP/1.1 2000 OK\r\n" + END,
    status_minus_1=b"HTTP/1.1 -1 OK\r\n" + END,
    status_plus_200=b"HTTP/1.1 +200 OK\r\n" + END,
    status_2_underscore_0=b"HTTP/1.1 2_0 OK\r\n" + END,
    a_status_that_is_no_number=b"HTTP/1.1 abc OK\r\n" + END,
    a_status_in_arabic_digits="HTTP/1.1 ٢٠٠ OK\r\n".encode() + END,
    two_spaces_before_the_status=b"HTTP/1.1  200 OK\r\n" + END,
    CR_in_the_reason=b"HTTP/1.1 200 O\rK\r\n" + END,
    NUL_in_the_reason=b"HTTP/1.1 200 O\0K\r\n" + END,
)

FIELDS = refused(
    CR_in_a_value=OK + b"X-A: b\rX-C: d\r\n" + END,
    NUL_in_a_value=OK + b"X-A: b\0c\r\n" + END,
    CR_in_a_name=OK + b"X-\rA: b\r\n" + END,
    a_folded_line=OK + b"X-A: b\r\n c\r\n" + END,
    a_folded_status_line=OK + b" X-A: b\r\n" + END,
    a_line_without_a_colon=OK + b"X-A\r\n" + END,
    a_space_in_a_name=OK + b"X A: b\r\n" + END,
    a_space_before_the_colon=OK + b"X-A : b\r\n" + END,
    no_name=OK + b": b\r\n" + END,
    a_name_beyond_ASCII=OK + b"X-\xe4: b\r\n" + END,
    one_field_too_large=OK + b"X-A: " + b"b" * 70_000 + b"\r\n" + END,
    fields_too_many=OK + b"X-A: b\r\n" * 10_000 + END,
    a_head_without_end=OK + b"X-A: b\r\n" * 10_000,
    a_status_line_without_end=b"HTTP/1.1 200 " + b"O" * 70_000,
)

LENGTHS = refused(
    a_length_and_chunks=OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    two_lengths=OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
    the_same_length_twice=OK + b"Content-Length: 2\r\n" + END,
    a_list_of_lengths=OK + b"Content-Length: 2, 2\r\n\r\nok",
    a_negative_length=OK + b"Content-Length: -2\r\n\r\nok",
    a_length_with_a_sign=OK + b"Content-Length: +2\r\n\r\nok",
    a_hexadecimal_length=OK + b"Content-Length: 0x2\r\n\r\nok",
    a_length_with_an_underscore=OK + b"Content-Length: 1_0\r\n\r\n0123456789",
    a_length_with_a_space=OK + b"Content-Length: 2 2\r\n\r\nok",
    an_unknown_coding=OK + b"Transfer-Encoding: xchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    chunked_twice=OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    two_codings=OK + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    a_coding_in_HTTP_1_0=b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    chunks_in_a_204=b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
)

# The head was honest and has been passed on; then the body breaks off on both sides.
BODIES = {
    "a size that is no number": Lie(CHUNKED + b"ZZ\r\nok\r\n0\r\n\r\n", 0, "closed"),
    "a negative size": Lie(CHUNKED + b"-2\r\nok\r\n0\r\n\r\n", 0, "closed"),
    "a chunk longer than its size": Lie(CHUNKED + b"2\r\nokXX0\r\n\r\n", 0, "closed"),
    "a size beyond 64 bits": Lie(CHUNKED + b"f" * 30 + b"\r\nok", 0, "closed"),
    "an extension with LF": Lie(CHUNKED + b"2;\nxx\r\nok\r\n0\r\n\r\n", 0, "closed"),
    "an extension without end": Lie(CHUNKED + b"2;" + b"a" * 70_000, 0, "closed"),
    "trailers without end": Lie(CHUNKED + b"2\r\nok\r\n0\r\n" + b"X-T: 1\r\n" * 10_000, 0, "closed"),
    "a chunk cut short": Lie(CHUNKED + b"5\r\nok", 0, "closed", closes=True),
    "a body shorter than its length": Lie(OK + b"Content-Length: 20\r\n\r\nok", 0, "closed", closes=True),
}

INTERIM = {
    "interim responses without end": Lie(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 4_000 + GOOD),
    "an interim response without end": Lie(b"HTTP/1.1 103 Early Hints\r\n" + b"Link: </a>\r\n" * 10_000),
    "101 unasked": Lie(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nraw", error="upgrade"
    ),
    "101 to h2c": Lie(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI", error="upgrade"
    ),
    "101 to nothing": Lie(b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + GOOD, error="upgrade"),
    "101 after 100": Lie(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nUpgrade: tls/1.3\r\n\r\n", error="upgrade"
    ),
}

ENDINGS = {
    "a close instead of a head": Lie(b"", error="closed", closes=True),
    "a close within the head": Lie(OK + b"Content-Le", closes=True),
    "a close within the status line": Lie(b"HTTP/1.1 2", closes=True),
    "a close after an interim response": Lie(b"HTTP/1.1 100 Continue\r\n\r\n", error="closed", closes=True),
}

# A response is passed on, and what follows it on the connection belongs to nobody.
SURPLUS = {
    "more than its length": Lie(GOOD + b"MORE", 200, ""),
    "a second response": Lie(GOOD + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSTALE", 200, ""),
    "a second response in chunks": Lie(CHUNKED + b"2\r\nok\r\n0\r\n\r\n" + GOOD.replace(b"ok", b"no"), 200, ""),
    "an interim response after the final one": Lie(GOOD + b"HTTP/1.1 103 Early Hints\r\n\r\n", 200, ""),
    "a 204 with a body": Lie(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nSTALE", 204, "", body=b""),
    "a 304 with a body": Lie(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nSTALE", 304, "", body=b""),
}  # fmt: skip

LIES = {**STATUS_LINES, **FIELDS, **LENGTHS, **BODIES, **INTERIM, **ENDINGS, **SURPLUS}

# Unusual and honest: must be served.
HONEST = {
    "100 first": Lie(b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD, 200, ""),
    "early hints": Lie(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n" + GOOD, 200, ""),
    "several interim responses": Lie(
        b"HTTP/1.1 102 Processing\r\n\r\n" * 3 + b"HTTP/1.1 103 H\r\n\r\n" + GOOD, 200, ""
    ),
    "an interim response nobody knows": Lie(b"HTTP/1.1 199 Hm\r\n\r\n" + GOOD, 200, ""),
    "lines that end in LF": Lie(b"HTTP/1.1 200 OK\nX-A: b\nContent-Length: 2\n\nok", 200, ""),
    "no reason phrase": Lie(b"HTTP/1.1 200\r\n" + END, 200, ""),
    "a status nobody knows": Lie(b"HTTP/1.1 299 Hm\r\n" + END, 299, ""),
    "HTTP/1.0": Lie(b"HTTP/1.0 200 OK\r\n" + END, 200, "", closes=True),
    "a body that ends with the connection": Lie(OK + b"\r\nok", 200, "", closes=True),
    "chunks with extensions and trailers": Lie(
        OK + b"Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2;a=b\r\nok\r\n0\r\nX-T: 1\r\n\r\n", 200, ""
    ),
    "a large head": Lie(OK + b"X-A: " + b"b" * 60_000 + b"\r\n" + END, 200, ""),
    "bytes beyond ASCII in a value": Lie(OK + b"X-A: \xe4\r\n" + END, 200, ""),
    "a 204": Lie(b"HTTP/1.1 204 No Content\r\n\r\n", 204, "", body=b""),
}
