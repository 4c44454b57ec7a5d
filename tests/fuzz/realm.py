"""A small catalogue with traps in it, a grant, and a second opinion on what that grant lets through.

`permitted` is told the request's bytes and knows nothing of effects, shapes or readings; it is what a careful person would answer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from urllib.parse import unquote, unquote_plus

from effectgate.policy.catalog import Catalog
from effectgate.policy.grant import Grant
from fuzz import naive
from fuzz.raw import Raw
from policy.build import effect, scoped, shape

HOST = "api.test"
FORM = "application/x-www-form-urlencoded"

CATALOG = Catalog.build(
    [
        effect("r/item", "read", shape(f"GET HEAD {HOST}/items/{{id}}")),
        effect("r/own", "read", shape(f"GET {HOST}/owners/{{owner}}/*")),
        effect("r/package", "read", shape(f"GET {HOST}/pkg/@acme%2F{{name}}", encoded_slash=True)),
        effect("r/search", "read", shape(f"GET {HOST}/search", query={"q": "*"}, query_only=frozenset({"page"}))),
        effect("r/list", "read", shape(f"POST {HOST}/", form={"Action": "List*"})),
        effect("r/live", "read", shape(f"GET {HOST}/live", websocket=True)),
        effect("w/admin", "destructive", f"GET HEAD {HOST}/items/admin"),
        effect("w/drop", "destructive", f"GET HEAD POST {HOST}/items/{{id}}/drop"),
        effect("w/purge", "destructive", f"GET {HOST}/owners/{{owner}}/purge"),
        effect("w/any", "destructive", shape(f"POST {HOST}/", form={"Action": "*"})),
    ]
)
HELD = ("r/item", "r/package", "r/search", "r/list", "r/live")
GRANT: Grant = scoped(CATALOG, *((name, {}) for name in HELD), ("r/own", {"owner": "acme"}))

# (methods, the path decoded once with `%2F` kept): all that the grant means.
MEANT: tuple[tuple[tuple[bytes, ...], str], ...] = (
    ((b"GET", b"HEAD"), r"/items/[^/]+"),
    ((b"GET",), r"/owners/acme/.*"),
    ((b"GET",), r"/pkg/@acme%2F[^/]+"),
    ((b"GET",), r"/search"),
    ((b"POST",), r"/"),
    ((b"GET",), r"/live"),
)
# On any reading, in any letters: somebody else's authority.
TRAPS = re.compile(r"/items/admin|/items/[^/]+/drop|/owners/[^/]+/purge")


def permitted(raw: Raw) -> bool:
    """Whether the grant of this module can mean this request."""
    if naive.fault(raw) or raw.scheme != "https" or naive.place(raw.where, "https") != (HOST, 443):
        return False
    text, query = naive.split(raw.target)
    plain = decoded(text)
    if not any(raw.method in methods and re.fullmatch(meant, plain, re.DOTALL) for methods, meant in MEANT):
        return False
    if "%2F" in plain and not plain.startswith("/pkg/"):
        return False
    return not any(TRAPS.fullmatch(reading) for reading in readings(text)) and _details(raw, plain, query)


def plain(raw: Raw) -> bool:
    """Whether this is a request of the grant without anything odd in it: refusing it would be a fault too."""
    ordinary = re.fullmatch(rb"/items/[b-z0-9]{1,9}|/owners/acme/[a-o]{1,9}|/search\?q=[a-z]{1,9}", raw.target)
    dull = all(name.lower() in (b"host", b"accept") for name, _ in raw.headers) and not raw.body
    return bool(ordinary) and dull and raw.method == b"GET" and permitted(raw)


def readings(path: bytes) -> Iterator[str]:
    """What lenient servers make of a path: each habit on or off, everywhere at once."""
    for slash, parameters, empties in itertools.product((False, True), repeat=3):
        text = decoded(path).casefold()
        text = text.replace("%2f", "/") if slash else text
        parts = text[1:].split("/")
        parts = [part.partition(";")[0] for part in parts] if parameters else parts
        yield "/" + "/".join(part for part in parts if part or not empties)


def decoded(path: bytes) -> str:
    """The path decoded once, `%2F` kept."""
    kept = re.sub(rb"%2f", b"%252F", path, flags=re.IGNORECASE)
    return unquote(kept.decode("ascii"), errors="strict")


def _details(raw: Raw, plain: str, query: bytes) -> bool:
    upgrade = any(name.lower() == b"upgrade" for name, _ in raw.headers)
    if upgrade and plain != "/live":
        return False
    if raw.body and raw.method in (b"GET", b"HEAD"):
        return False
    if plain == "/search":
        return {name.partition("=")[0] for name in query.decode().split("&") if name} <= _spellings(
            query, ("q", "page")
        )
    return raw.method != b"POST" or _lists(raw, query)


def _spellings(query: bytes, names: tuple[str, ...]) -> set[str]:
    found = {part.partition("=")[0] for part in query.decode().split("&")}
    return {name for name in found if unquote_plus(name) in names}


def _lists(raw: Raw, query: bytes) -> bool:
    """A form whose every Action, wherever somebody may find one, is a List."""
    pairs = (raw.body + b"&" + query).replace(b";", b"&").decode("latin-1").split("&")
    values = [v for n, _, v in (pair.partition("=") for pair in pairs) if unquote_plus(n).casefold() == "action"]
    return bool(values) and all(unquote_plus(value).startswith("List") for value in values)
