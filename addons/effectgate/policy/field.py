"""Header fields and form fields of a request (RFC 9110 section 5, RFC 9112 section 6; design.md sections 2 and 3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from effectgate.policy.authority import EnvelopeError

Headers = tuple[tuple[str, str], ...]

TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
# Tab is the one control that a field value may hold (RFC 9110 section 5.5); a fold shows as CR or LF.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

# Frameworks take the real method or path from these; a grant for GET must not carry them.
OVERRIDES: frozenset[str] = frozenset(
    {
        "x-http-method-override",
        "x-http-method",
        "x-method-override",
        "x-original-method",
        "x-original-url",
        "x-original-uri",
        "x-original-host",
        "x-rewrite-url",
        "x-rewrite-uri",
        "x-override-url",
        "x-forwarded-method",
        "x-forwarded-uri",
        "x-forwarded-path",
        "http-method-override",
        "x-method",
        "x-original-path",
        "x-envoy-original-path",
        "x-forwarded-host",
        "x-host",
        "x-http-host-override",
    }
)
# RFC 7239 section 5.3: the host that a request was sent to, as a proxy in front would tell it.
_FORWARDED_HOST = re.compile(r"(?:^|[;,])\s*host\s*=", re.IGNORECASE)
# What CGI and WSGI make of the name of a field that frames the message, written so that other servers see another field.
_DISGUISED = frozenset({"content_length", "transfer_encoding", "content_encoding"})
# A length of more digits wraps to another in 64 bits.
_LENGTH = re.compile(r"[0-9]{1,18}")
# PHP makes an underscore of a dot or a bracket in a name; some servers split at `;` as at `&`.
_METHOD_FIELD = re.compile(rb"[_.\[](?:http)?method(?:\[\])?", re.IGNORECASE)
_ASCII_CHARSETS = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252"})
_PARTS = re.compile("[&;]")
_TYPE_END = re.compile("[;, \t]")


def read_fields(fields: Sequence[tuple[bytes, bytes]]) -> Headers:
    """Fields with lower-case names; EnvelopeError for what a second parser would frame otherwise."""
    out: list[tuple[str, str]] = []
    for raw_name, raw_value in fields:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        if not TOKEN.fullmatch(name):
            raise EnvelopeError("A header name is not a token (RFC 9110 section 5.1).")
        if _CONTROL.search(value):
            raise EnvelopeError(f"The header {name.lower()} has a CR, LF, NUL or other control character in its value.")
        out.append((name.lower(), value.strip(" \t")))
    headers = tuple(out)
    _check_framing(headers)
    _check_upgrade(headers)
    return headers


def _check_framing(headers: Headers) -> None:
    lengths = [value for name, value in headers if name == "content-length"]
    codings = [value for name, value in headers if name == "transfer-encoding"]
    if sum(name == "content-type" for name, _ in headers) > 1:
        raise EnvelopeError("The request has several Content-Type headers (RFC 9110 section 8.3).")
    if len(lengths) > 1 or len(codings) > 1 or (lengths and codings):
        raise EnvelopeError("The request states its length twice (RFC 9112 section 6.1).")
    if lengths and not _LENGTH.fullmatch(lengths[0]):
        raise EnvelopeError("The Content-Length is not a number of at most 18 digits.")
    if any(name in _DISGUISED for name, _ in headers):
        raise EnvelopeError("The request has a header that some servers read as the length or coding of its body.")
    if codings and codings[0].lower() != "chunked":
        raise EnvelopeError("The Transfer-Encoding is not exactly chunked.")


def _check_upgrade(headers: Headers) -> None:
    upgrades = [value for name, value in headers if name == "upgrade"]
    if upgrades and (len(upgrades) > 1 or upgrades[0].lower() != "websocket"):
        raise EnvelopeError("The request asks for an Upgrade other than websocket.")


def is_websocket(headers: Headers) -> bool:
    """Whether this is a WebSocket handshake; any Upgrade that read_fields let through is one."""
    return any(name == "upgrade" for name, _ in headers)


def refuse_overrides(headers: Headers) -> None:
    """EnvelopeError where a header replaces the method, the path or the host that was decided on."""
    for name, value in headers:
        overrides = name.replace("_", "-") in OVERRIDES  # CGI and WSGI know no difference
        if overrides or (name == "forwarded" and _FORWARDED_HOST.search(value)):
            raise EnvelopeError(
                f"The header {name} replaces the method, path or host of the request; send the real one."
            )


def refuse_method_field(text: str) -> None:
    """EnvelopeError where a query or form has the field `_method` or one of its kin, in any spelling of its name."""
    if not any(word in text.lower() for word in ("method", "override", "%")):
        return
    for part in _PARTS.split(text):
        # A name ends at a NUL where it is read as a C string.
        name = unquote_to_bytes(part.partition("=")[0].replace("+", " ")).partition(b"\0")[0].strip()
        if _METHOD_FIELD.fullmatch(name) or name.decode("latin-1").lower() in OVERRIDES:
            raise EnvelopeError(f"The field {_shown(name)} replaces the method of the request; send the real one.")


def _shown(name: bytes) -> str:
    return name.decode("ascii", "replace")[:40]


def media_type(values: Iterable[str]) -> str:
    """The media type of the one Content-Type, lower-case without parameters; empty where there is none or more than one.

    It ends as PHP ends it, at a comma or a blank too; what then follows makes it `recoded`.
    """
    kinds = list(values)
    return _TYPE_END.split(kinds[0].strip(), maxsplit=1)[0].lower() if len(kinds) == 1 else ""


@dataclass(frozen=True, slots=True)
class Table:
    """The values that each name has in a query, a form or the header: in the letters it has, and with names case-folded."""

    exact: Mapping[str, frozenset[str]]
    folded: Mapping[str, frozenset[str]]

    @classmethod
    def of(
        cls,
        pairs: Iterable[tuple[str, str]],
        hidden: Iterable[tuple[str, str]] = (),
        cut: Iterable[tuple[str, str]] = (),
    ) -> Table:
        """`hidden` pairs are those that only some servers see: they contradict what is there, and count when names are folded.

        `cut` pairs are ones that some servers see shorter: they only count when names are folded.
        """
        exact: dict[str, frozenset[str]] = {}
        folded: dict[str, frozenset[str]] = {}
        for name, value in pairs:
            exact[name] = exact.get(name, _NOTHING) | {value}
            folded[name.casefold()] = folded.get(name.casefold(), _NOTHING) | {value}
        for name, value in hidden:
            folded[name.casefold()] = folded.get(name.casefold(), _NOTHING) | {value}
            if name in exact:
                exact[name] |= {value}
        for name, value in cut:
            folded[name.casefold()] = folded.get(name.casefold(), _NOTHING) | {value}
        return cls(exact, folded)

    def values(self, name: str, fold: bool) -> frozenset[str]:
        """Every value of the name."""
        return self.folded.get(name.casefold(), _NOTHING) if fold else self.exact.get(name, _NOTHING)


_NOTHING: frozenset[str] = frozenset()
EMPTY = Table({}, {})


def recoded(values: Iterable[str]) -> bool:
    """Whether some Content-Type gives a charset in which ASCII bytes may be other letters, such as UTF-16 or UTF-7, or is no one type."""
    values = list(values)
    if any(_TYPE_END.search(value.partition(";")[0].strip()) for value in values):
        return True
    given = (part.partition("=") for value in values for part in value.split(";")[1:])
    charsets = (charset.strip(" \t\"'").lower() for name, _, charset in given if name.strip().lower() == "charset")
    return any(charset not in _ASCII_CHARSETS for charset in charsets)


def table(text: str) -> Table | None:
    """The table of a query or form, decoded once, `+` a space; None where an escape is bad or not UTF-8."""
    if not text:
        return EMPTY
    if _BAD_ESCAPE.search(text):
        return None
    parts = [part for part in text.split("&") if part]
    hidden = [later for part in parts if ";" in part for later in part.split(";")[1:] if later]
    cut = [part.partition(";")[0] for part in parts if ";" in part]
    try:
        return Table.of(map(_pair, parts), map(_pair, hidden), map(_pair, filter(None, cut)))
    except UnicodeDecodeError:
        return None


def table_of_bytes(content: bytes) -> Table | None:
    """As `table`, for the bytes of a form body."""
    return table(content.decode("ascii")) if content.isascii() else None


def _pair(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    return _decode(name), _decode(value)


def _decode(text: str) -> str:
    if "%" not in text and "+" not in text:
        return text
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8")
