"""Request facts: parsed once, ambiguous never (design.md section 3).

`read_facts` takes a request as a transport saw it; `facts_from_url` takes one as a person writes it and goes the same way. A
`RequestFacts` of an ambiguous request does not exist: both raise EnvelopeError.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from effectgate.policy import field, target
from effectgate.policy.authority import Authority, EnvelopeError, parse_authority
from effectgate.policy.content_coding import decoded
from effectgate.policy.field import EMPTY, Table
from effectgate.policy.graphql_document import RootField
from effectgate.policy.json_body import Document, is_json, read_json
from effectgate.policy.reading import Readings

__all__ = ["NO_BODY", "UNREAD", "Body", "EnvelopeError", "Part", "RequestFacts", "facts_from_url", "read_facts"]

DEFAULT_PORTS = {"http": 80, "https": 443}
URL_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}

# What one shape may ask to hold of a body, in bytes, unless it sets `inspect`.
INSPECT_DEFAULT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Body:
    """Whether the request has a body, and its bytes where they were held (`content` None: not held, or too large to hold).

    `within`: how many bytes may be held of it, coded or decoded.
    """

    present: bool
    content: bytes | None = None
    within: int = INSPECT_DEFAULT


NO_BODY = Body(False)
UNREAD = Body(True)


@dataclass(frozen=True, slots=True)
class Part:
    """One act of a request that carries several (design.md section 2, rule 5).

    `document`: the call in its JSON body, None where the body is unreadable; `field`: the GraphQL root field, None where the document
    is unreadable. `graphql` and `json` are false where the request has no such thing at all.
    """

    json: bool
    document: Document | None
    graphql: bool = False
    field: RootField | None = None


@dataclass(frozen=True)
class RequestFacts:
    """What one request is. `path` and `query` are the client's own bytes (ASCII); `segments` are decoded once, `%2F` kept.

    `headers` are (lower-case name, value) in wire order.
    """

    method: str
    scheme: str
    host: str
    port: int
    path: str
    query: str | None
    headers: tuple[tuple[str, str], ...]
    body: Body
    websocket: bool
    encoded_slash: bool
    segments: tuple[str, ...]
    readings: Readings
    part: Part | None = None  # set by `parts` where a candidate shape reads documents

    def with_body(self, content: bytes | None, within: int = INSPECT_DEFAULT) -> RequestFacts:
        """The same request with its body held, of at most `within` bytes; None says that it is there and could not be held."""
        body = Body(True, content, within) if content is None or content else NO_BODY
        facts = dataclasses.replace(self, body=body)
        _check_form(facts)
        return facts

    def header(self, name: str) -> tuple[str, ...]:
        """Every value of the header (lower-case name), in order."""
        return tuple(value for known, value in self.headers if known == name)

    @cached_property
    def media_type(self) -> str:
        """The media type of the body, lower-case, without parameters; empty where none is said."""
        return field.media_type(self.header("content-type"))

    @cached_property
    def header_table(self) -> Table | None:
        """The header's values by name; None only in facts of a request whose header is not known (`traffic`)."""
        return Table.of(self.headers)

    @cached_property
    def query_table(self) -> Table | None:
        """The query's values by name, decoded once; None where they are not UTF-8."""
        return field.table(self.query or "")

    @cached_property
    def form_table(self) -> Table | None:
        """The form body's values by name, decoded once; None where it cannot be read as a form. Empty without a body."""
        if not self.body.present:
            return EMPTY
        if self.plain_body is None or self.media_type != field.FORM:
            return None
        return field.table_of_bytes(self.plain_body)

    @cached_property
    def plain_body(self) -> bytes | None:
        """The bytes of the body without its content coding; None where there is none, or it was not held or cannot be decoded."""
        if self.body.content is None:
            return None
        return decoded(self.body.content, self.header("content-encoding"), self.body.within)

    @cached_property
    def document(self) -> Document | None:
        """The JSON document that the body is; None where it cannot be read as one, or is said to be something else."""
        if self.plain_body is None or not is_json(self.media_type) or field.recoded(self.header("content-type")):
            return None
        return read_json(self.plain_body)

    @property
    def url(self) -> str:
        """The request's URL without its query, for people."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{shown}{port}{self.path}"


def read_facts(
    *,
    method: bytes,
    scheme: str,
    host: str,
    port: int,
    target: bytes,
    fields: Sequence[tuple[bytes, bytes]],
    body: Body = NO_BODY,
    authority: bytes | None = None,
) -> RequestFacts:
    """Facts of a request as it will be forwarded.

    `host` and `port` are the transport's truth (CONNECT target, or the authority of the absolute form, through `parse_authority`);
    `target` is the origin-form path and query; `authority` is HTTP/2's `:authority`, with which Host may be missing.
    """
    if scheme not in DEFAULT_PORTS:
        raise EnvelopeError(f"The scheme {scheme!r} is neither http nor https.")
    headers = field.read_fields(fields)
    _check_host(Authority(host, port), scheme, headers, authority)
    return _assemble(_method(method), scheme, Authority(host, port), target, headers, body)


def facts_from_url(
    method: str, url: str, headers: Iterable[tuple[str, str]] = (), body: bytes | None = None
) -> RequestFacts:
    """Facts of a request written as a method and an absolute URL; a missing Host header is supplied from the URL."""
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in URL_SCHEMES or not rest:
        raise EnvelopeError("The URL is not absolute: write http://… or https://….")
    plain = URL_SCHEMES[scheme.lower()]
    cut = next((at for at, char in enumerate(rest) if char in "/?#"), len(rest))
    where = parse_authority(rest[:cut], DEFAULT_PORTS[plain])
    read = field.read_fields([(_bytes(name), _bytes(value)) for name, value in headers])
    if any(name == "host" for name, _ in read):
        _check_host(where, plain, read, None)
    if scheme.lower() in ("ws", "wss") and not any(name == "upgrade" for name, _ in read):
        read = (*read, ("connection", "Upgrade"), ("upgrade", "websocket"))
    held = Body(True, body) if body else NO_BODY
    return _assemble(_method(_bytes(method)), plain, where, _bytes(rest[cut:]), read, held)


def _assemble(
    method: str, scheme: str, where: Authority, raw: bytes, headers: tuple[tuple[str, str], ...], body: Body
) -> RequestFacts:
    path, query = target.split_target(raw)
    segments = target.decode_segments(path)
    field.refuse_overrides(headers)
    target.check_query(query)
    facts = RequestFacts(
        method=method,
        scheme=scheme,
        host=where.host,
        port=where.port,
        path=path,
        query=query,
        headers=headers,
        body=body,
        websocket=field.is_websocket(headers),
        encoded_slash=any("%2F" in segment for segment in segments),
        segments=segments,
        readings=Readings.of(segments),
    )
    _check_form(facts)
    return facts


def _check_form(facts: RequestFacts) -> None:
    if not facts.body.present or facts.media_type != field.FORM:
        return
    # A form is ASCII (URL Standard, section 5.1). In EBCDIC, UTF-16 or UTF-7 some servers read fields in it that nobody else sees.
    if field.recoded(facts.header("content-type")):
        raise EnvelopeError("The form is said to be in a charset in which its fields cannot be read; send it in UTF-8.")
    if not facts.body.content:
        return
    if facts.plain_body is None:
        raise EnvelopeError("The form's Content-Encoding hides its fields; send it plain, or as one gzip member.")
    field.refuse_method_field(facts.plain_body.decode("latin-1"))


def _method(raw: bytes) -> str:
    method = raw.decode("latin-1")
    if not field.TOKEN.fullmatch(method) or method != method.upper():
        # Libraries fold `hEAD` to HEAD and servers do not: the two would frame its response differently.
        raise EnvelopeError("The method is not an upper-case token (RFC 9110 section 9.1); methods are case-sensitive.")
    if method in ("TRACE", "CONNECT"):
        raise EnvelopeError(f"The method {method} is never forwarded.")
    return method


def _check_host(where: Authority, scheme: str, headers: tuple[tuple[str, str], ...], authority: bytes | None) -> None:
    hosts = [value for name, value in headers if name == "host"]
    claimed = [*hosts, *([authority.decode("latin-1")] if authority is not None else [])]
    if len(hosts) > 1 or not claimed:
        raise EnvelopeError(f"The request has {len(hosts)} Host headers; exactly one is needed.")
    for text in claimed:
        if parse_authority(text, DEFAULT_PORTS[scheme]) != where:
            raise EnvelopeError(
                f"The Host header does not agree with the connection, which is for {where.host}:{where.port}."
            )


def _bytes(text: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise EnvelopeError("The request has a character that cannot stand in HTTP; percent-encode it.") from None
