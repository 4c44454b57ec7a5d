"""TLS 1.3 ClientHellos by hand (RFC 8446 section 4.1.2), with whatever a row puts into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hostile.repeats import unfold

# Extensions in hex: groups x25519 and P-256, one point format, signature schemes.
_USUAL = "000a00060004001d0017 000b00020100 000d000a00080403080404010807"
# A key share for x25519; versions 1.3 and 1.2.
_TLS_1_3_ONLY = f"003300260024001d0020{'09' * 32} 002b00050403040303"
_OLD = {"1.1": 0x0302, "1.0": 0x0301, "3.0": 0x0300}
_TLS_1_3 = (0x1301, 0x1302, 0xC02B, 0xC02F)
_CBC = (0xC009, 0xC013, 0x002F)
_KEYS = {"sni", "alpn", "version", "extensions", "split", "cut", "times", "then"}


def client_hello(told: Mapping[str, Any], host: str) -> bytes:
    """A ClientHello in records, as told. Raises ValueError.

    `sni` (default the host; none where empty), `alpn`, `version` (1.3), further `extensions` in hex, `split` (bytes a record),
    `cut` (send so many bytes only), `times`, `then` (hex that follows).
    """
    if unknown := set(told) - _KEYS:
        raise ValueError(f"a hello has no {sorted(unknown)}")
    version = told.get("version", "1.3")
    names = [told["sni"]] if isinstance(told.get("sni"), str) else told.get("sni", [host])
    parts = [
        *(_server_name(unfold(name)) for name in names if name),
        _alpn(told.get("alpn", ())),
        bytes.fromhex(_USUAL),
    ]
    parts += [bytes.fromhex(_TLS_1_3_ONLY)] if version == "1.3" else []
    hello = _message(b"".join([*parts, bytes.fromhex(unfold(told.get("extensions", "")))]), version)
    records = _records(hello, told.get("split", 16384), _OLD.get(version, 0x0301))
    return (records * told.get("times", 1))[: told.get("cut")] + bytes.fromhex(unfold(told.get("then", "")))


def _message(extensions: bytes, version: str) -> bytes:
    suites = _TLS_1_3 if version == "1.3" else _CBC
    body = (
        _OLD.get(version, 0x0303).to_bytes(2) + b"r" * 32 + b"\0" + _long(b"".join(one.to_bytes(2) for one in suites))
    )
    return b"\1" + _longer(body + b"\1\0" + _long(extensions))


def _records(message: bytes, size: int, version: int) -> bytes:
    pieces = [message[at : at + size] for at in range(0, len(message), size)]
    return b"".join(b"\x16" + version.to_bytes(2) + _long(piece) for piece in pieces)


def _server_name(name: str) -> bytes:
    return b"\0\0" + _long(_long(b"\0" + _long(name.encode("latin-1"))))


def _alpn(names: Sequence[str]) -> bytes:
    listed = b"".join(len(name).to_bytes() + name.encode() for name in names)
    return b"\0\x10" + _long(_long(listed)) if names else b""


def _long(data: bytes) -> bytes:
    return len(data).to_bytes(2) + data


def _longer(data: bytes) -> bytes:
    return len(data).to_bytes(3) + data
