"""Authorities: one normal form, or refused; every row names a reading that some parser has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effectgate.policy.authority import Authority, EnvelopeError, is_address, parse_authority


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("api.test", "api.test", 443),
        ("API.Test:8443", "api.test", 8443),
        ("api.test.", "api.test", 443),
        ("api.test.:80", "api.test", 80),
        ("a_b.test", "a_b.test", 443),
        ("_dmarc.api.test", "_dmarc.api.test", 443),
        ("xn--bcher-kva.example", "xn--bcher-kva.example", 443),
        ("localhost:1", "localhost", 1),
        ("192.0.2.7", "192.0.2.7", 443),
        ("192.0.2.7.", "192.0.2.7", 443),
        ("[2001:DB8::1]:65535", "2001:db8::1", 65535),
        ("[::1]", "::1", 443),
        ("1api.test", "1api.test", 443),
        ("0x7f.test", "0x7f.test", 443),
        ("a" * 63 + ".test", "a" * 63 + ".test", 443),
    ],
)
def test_the_normal_form(text: str, host: str, port: int) -> None:
    authority = parse_authority(text, 443)
    assert authority == Authority(host, port)
    assert authority.is_address is is_address(host) is (":" in host or host == "192.0.2.7")


AMBIGUOUS = {
    "user information": ["user@api.test", "user:pw@api.test", "api.test@evil.test", "@api.test", "api.test:443@evil.test"],
    "backslash": ["api.test\\evil.test", "\\api.test", "a\\@b.test"],
    "control or space": ["api.test ", " api.test", "api.test\t", "evil\0.api.test", "api.test\r\nx", "api.test\n", "a b.test", "api\x7f.test"],
    "not ASCII": ["bücher.example", "api\uff0etest", "api\u3002test", "api\uff61test", "apı.test", "api.test\u2028", "\u200bapi.test"],
    "percent-escape": ["api%2etest", "api.test%00.evil.test", "api.test%0a", "[fe80::1%25eth0]"],
    "delimiters": ["api.test/x", "api.test?x", "api.test#x", "http://api.test"],
    "brackets around no IPv6": ["[api.test]", "[192.0.2.7]", "[::1", "::1]", "[]", "[::1]x", "x[::1]", "[[::1]]", "[v1.x]", "[::1%eth0]"],
    "no brackets around IPv6": ["::1", "2001:db8::1", "::1:80"],
    "numbers that are no canonical address": [
        "0x7f000001", "0X7F.0.0.1", "127.1", "127.0.1", "2130706433", "017700000001", "0177.0.0.1", "127.0.0.01", "127.0.0.256",
        "1.2.3.4.5", "1.2.3", "0x7f.1", "example.0x7f", "example.123", "0", "1.2.3.4..", "127.0.0.0x1",
    ],
    "dots": ["api.test..", "api..test", ".api.test", ".", "..", ""],
    "labels": ["-api.test", "api-.test", "a" * 64 + ".test", ".".join(["a" * 60] * 5), "*.api.test", "api,test", "api.test;x", "a'b.test"],
    "ports": [
        "api.test:", "api.test:0", "api.test:65536", "api.test:99999999", "api.test:080", "api.test:00443", "api.test:+80", "api.test:-1",
        "api.test:80:80", "api.test:http", "api.test:8 0", "api.test:\u0661",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in AMBIGUOUS.items() for text in texts])
def test_refused_as_ambiguous(kind: str, text: str) -> None:
    with pytest.raises(EnvelopeError) as refused:
        parse_authority(text, 443)
    message = str(refused.value)
    assert message.endswith(".")
    assert message.isascii() or "…" in message
    assert message.replace("…", "").isprintable()


def test_without_a_port_a_default_is_needed() -> None:
    with pytest.raises(EnvelopeError):
        parse_authority("api.test", None)
    assert parse_authority("api.test:80", None) == Authority("api.test", 80)


@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda raw: raw.decode("latin-1")))
def test_anything_is_refused_or_normal(text: str) -> None:
    try:
        authority = parse_authority(text, 443)
    except EnvelopeError:
        return
    again = f"[{authority.host}]" if ":" in authority.host else authority.host
    assert parse_authority(f"{again}:{authority.port}", None) == authority
