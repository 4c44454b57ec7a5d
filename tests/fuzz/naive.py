"""A second reading of design.md section 3, written without the product: byte by byte where the product has patterns.

`fault` says why no facts may exist; it knows nothing of the product's limits on size, which `large` covers roughly.
"""

from __future__ import annotations

import gzip
import socket
import string
import unicodedata
import zlib
from urllib.parse import unquote_to_bytes

from fuzz.raw import Raw

FORM = b"application/x-www-form-urlencoded"
TOKEN = set(b"!#$%&'*+-.^_`|~" + string.digits.encode() + string.ascii_letters.encode())
HEX = set(string.hexdigits.encode())
LABEL = set(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
PORTS = {"http": 80, "https": 443}
OVERRIDES = frozenset(
    ["http-method-override", "x-override-url", "x-original-host", "x-method", "x-host", "x-http-host-override"]
    + [f"x-{word}" for word in ("http-method-override", "http-method", "method-override")]
    + [f"x-original-{word}" for word in ("method", "url", "uri", "path")]
    + [f"x-rewrite-{word}" for word in ("url", "uri")]
    + [f"x-forwarded-{word}" for word in ("method", "uri", "path", "host")]
)
METHOD_FIELDS = {(mark, word) for mark in "_.[" for word in ("method", "httpmethod")}

Place = tuple[str, int]


def fault(raw: Raw) -> str:
    """Why this request is ambiguous, or the empty string."""
    return method(raw.method) or hosts(raw) or fields(raw) or path(raw.target) or query(raw.target) or form(raw)


def large(raw: Raw) -> bool:
    """Whether the product may refuse it for its size alone."""
    text = raw.target.lower()
    return len(text) > 4000 or sum(text.count(unit) for unit in (b"//", b";", b"%2f")) > 6


def method(name: bytes) -> str:
    """Upper-case token, and neither of the two that are never forwarded."""
    if not name or not set(name) <= TOKEN or name.upper() != name:
        return "method"
    return "method never forwarded" if name in (b"TRACE", b"CONNECT") else ""


# ---- hosts ----


def place(text: bytes, scheme: str) -> Place | None:
    """Host and port of an authority, or None where it has not exactly one meaning."""
    if not all(0x21 <= byte <= 0x7E and byte not in b"@\\%/?#" for byte in text):
        return None
    host, colon, port = text.rpartition(b":") if text[-1:] != b"]" and b":" in text else (text, b"", b"")
    number = PORTS[scheme] if not colon else int(port) if port.isdigit() and not port.startswith(b"0") else 0
    found = _bracketed(host) if host.startswith(b"[") else _name(host.lower())
    return (found, number) if found and 0 < number < 65536 else None


def _bracketed(host: bytes) -> str:
    try:
        return socket.inet_ntop(
            socket.AF_INET6, socket.inet_pton(socket.AF_INET6, host[1:-1].decode())
        ) * host.endswith(b"]")
    except (OSError, ValueError):
        return ""


def _name(host: bytes) -> str:
    host = host[:-1] if host.endswith(b".") else host
    labels = host.split(b".")
    if len(host) > 253 or not all(_label(label) for label in labels):
        return ""
    last = labels[-1]
    if last.isdigit() or (last.startswith(b"0x") and set(last[2:]) <= HEX):
        return host.decode() if _dotted_quad(labels) else ""
    return host.decode()


def _label(label: bytes) -> bool:
    return 0 < len(label) <= 63 and set(label) <= LABEL and label[:1] != b"-" and label[-1:] != b"-"


def _dotted_quad(labels: list[bytes]) -> bool:
    return len(labels) == 4 and all(part.isdigit() and b"%d" % int(part) == part and int(part) < 256 for part in labels)


def hosts(raw: Raw) -> str:
    """One Host, and everything that names a host names the connection's."""
    if raw.scheme not in PORTS:
        return "scheme"
    where = place(raw.where, raw.scheme)
    said = [value.strip(b" \t") for name, value in raw.headers if name.lower() == b"host"]
    claims = said + ([] if raw.pseudo is None else [raw.pseudo])
    if where is None or len(said) > 1 or not claims:
        return "host"
    return "" if all(_same(place(claim, raw.scheme), where) for claim in claims) else "another host"


def _same(one: Place | None, other: Place) -> bool:
    return one is not None and (_packed(one[0]), one[1]) == (_packed(other[0]), other[1])


def _packed(host: str) -> bytes | str:
    return socket.inet_pton(socket.AF_INET6, host) if ":" in host else host


# ---- fields ----


def fields(raw: Raw) -> str:
    """Framing, upgrades, overrides, and bytes that some recipient takes for the end of a line."""
    lower = [(name.lower(), value.strip(b" \t")) for name, value in raw.headers]
    for name, value in lower:
        if not name or not set(name) <= TOKEN:
            return "field name"
        if any((byte < 0x20 and byte != 9) or byte == 0x7F for byte in value):
            return "control in a value"
        if name.decode().replace("_", "-") in OVERRIDES or name == b"x-envoy-original-path":
            return "override"
        if name == b"forwarded" and any(
            part.split(b"=")[0].strip().lower() == b"host" and b"=" in part
            for part in value.replace(b",", b";").split(b";")
        ):
            return "override of the host"
        if name in (b"content_length", b"transfer_encoding", b"content_encoding"):
            return "framing in disguise"
    return _framing(lower)


def _framing(lower: list[tuple[bytes, bytes]]) -> str:
    def said(wanted: bytes) -> list[bytes]:
        return [value for name, value in lower if name == wanted]

    lengths, codings, upgrades = said(b"content-length"), said(b"transfer-encoding"), said(b"upgrade")
    if len(lengths) + len(codings) > 1 or len(said(b"content-type")) > 1:
        return "said twice"
    if any(not 0 < len(value) < 19 or not set(value) <= set(b"0123456789") for value in lengths):
        return "length"
    if any(value.lower() != b"chunked" for value in codings):
        return "coding"
    return "upgrade" if len(upgrades) > 1 or any(value.lower() != b"websocket" for value in upgrades) else ""


# ---- the target ----


def split(target: bytes) -> tuple[bytes, bytes]:
    """Path and query."""
    head, _, tail = target.partition(b"?")
    return head or b"/", tail


def path(target: bytes) -> str:
    """Everything that two servers would resolve to two paths."""
    if not all(0x21 <= byte <= 0x7E and byte not in b"#" for byte in target):
        return "byte in the target"
    text, _ = split(target)
    if not text.startswith(b"/") or b"\\" in text or not escapes_are_whole(text):
        return "path"
    return next((why for part in text.lower().replace(b"%2f", b"/").split(b"/") if (why := _segment(part))), "")


def escapes_are_whole(text: bytes) -> bool:
    """Whether every `%` begins an escape."""
    return all(len(after[:2]) == 2 and set(after[:2]) <= HEX for after in text.split(b"%")[1:])


def _segment(part: bytes) -> str:
    raw = unquote_to_bytes(part)
    if any(byte < 0x20 or byte in b"\x7f\\" for byte in raw):
        return "control or backslash"
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    plain = unicodedata.normalize("NFKC", text)
    if _hidden(plain.encode()):
        return "encoded twice"
    parts = plain.replace("\\", "/").split("/")
    return "dot segment" if any(part.split(";")[0] in (".", "..") for part in parts) else ""


def _hidden(text: bytes) -> bool:
    """Whether decoding once more, or more often, brings out what a path must not hide."""
    again = unquote_to_bytes(text)
    while again != text:
        if any(again.count(byte) > text.count(byte) for byte in (b"\0", b"/", b".", b"\\")):
            return True
        text, again = again, unquote_to_bytes(again)
    return False


def query(target: bytes) -> str:
    """What the query may not have."""
    _, text = split(target)
    if not escapes_are_whole(text) or b"\0" in unquote_to_bytes(text):
        return "query"
    return method_field(text)


def form(raw: Raw) -> str:
    """What a form body may not have."""
    kinds = [value for name, value in raw.headers if name.lower() == b"content-type"]
    if (
        not kinds
        or not raw.body
        or kinds[0].strip().lower().replace(b",", b" ").replace(b"\t", b" ").replace(b";", b" ").split(b" ")[0] != FORM
    ):
        return ""
    if kinds[0].split(b";")[0].strip().lower() != FORM or _strange(kinds[0]):
        return "type or charset of a form"
    plain = uncoded(raw)
    return "coding of a form" if plain is None else method_field(plain)


def uncoded(raw: Raw) -> bytes | None:
    """The body without its content coding; None where it is any but one whole gzip member."""
    codings = [value for name, value in raw.headers if name.lower() == b"content-encoding"]
    named = [one.strip().lower() for one in b",".join(codings).split(b",")]
    named = [one for one in named if one not in (b"", b"identity")]
    if not named:
        return raw.body
    if len(named) > 1 or named[0] not in (b"gzip", b"x-gzip"):
        return None
    try:
        return gzip.decompress(raw.body) if raw.body.count(b"\x1f\x8b") == 1 else None
    except (OSError, EOFError, zlib.error):
        return None


def _strange(kind: bytes) -> bool:
    """Whether a charset is named in which ASCII bytes are other letters."""
    for part in kind.split(b";")[1:]:
        name, _, value = part.partition(b"=")
        known = (b"", b"utf-8", b"utf8", b"us-ascii", b"ascii", b"iso-8859-1", b"latin1", b"windows-1252")
        if name.strip().lower() == b"charset" and value.strip(b" \t\"'").lower() not in known:
            return True
    return False


def method_field(text: bytes) -> str:
    """Some frameworks take the method from this field."""
    names = [
        unquote_to_bytes(part.split(b"=")[0].replace(b"+", b" ")).split(b"\0")[0].strip()
        for part in text.replace(b";", b"&").split(b"&")
    ]
    return "_method" if any(_replaces_method(name.lower().decode("latin-1")) for name in names) else ""


def _replaces_method(name: str) -> bool:
    stem = name.removesuffix("[]")
    return name in OVERRIDES or name == "x-envoy-original-path" or (stem[:1], stem[1:]) in METHOD_FIELDS
