"""Plain requests that a shape matches: what it asks for written out, and any text where it leaves a choice.

They are samples, not the set: one for each method, each value of a discriminator, and each depth that a last `*` makes different.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from effectgate.policy.effect import GraphQL, Patterns, Shape
from effectgate.policy.facts import EnvelopeError, RequestFacts, facts_from_url
from effectgate.policy.field import FORM
from effectgate.policy.host import STAR, HostPattern
from effectgate.policy.path import PathPattern
from effectgate.policy.value import ValuePattern

# What stands where a pattern leaves the choice; no segment of an API that we know is called so.
ANY = "any"
# Values of discriminators that are written out one by one; AWS has effects with hundreds of actions.
MAX_VALUES = 16
_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Witness:
    """One request as a person would write it for `explain`."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None

    def __str__(self) -> str:
        fields = "".join(f" -H '{name}: {value}'" for name, value in self.headers)
        return f"{self.method} {self.url}{fields}" + ("" if self.body is None else f" --data '{self.body.decode()}'")

    def queried(self) -> Witness:
        """The same with a query name that no pack asks for, which `query_only` refuses."""
        return replace(self, url=f"{self.url}{'&' if '?' in self.url else '?'}{ANY}={ANY}")

    def facts(self) -> RequestFacts | None:
        """Its facts, or None where no client may send it."""
        try:
            return facts_from_url(self.method, self.url, self.headers, self.body)
        except EnvelopeError:
            return None


def witnesses(shape: Shape) -> Iterator[Witness]:
    """Requests that the shape names, the plainest first."""
    paths = list(dict.fromkeys(_paths(shape.path)))
    methods = sorted(shape.methods) or ["GET", "POST"]
    for method in methods:
        yield _witness(shape, method, paths[0], 0)
    for path in paths[1:]:
        yield _witness(shape, methods[0], path, 0)
    for choice in range(1, min(_choices(shape), MAX_VALUES)):
        yield _witness(shape, methods[0], paths[0], choice)


def _witness(shape: Shape, method: str, path: str, choice: int) -> Witness:
    port = min(shape.ports)
    place = f"{shape.scheme}://{_host(shape.host)}" + ("" if port == _PORTS[shape.scheme] else f":{port}")
    query = urlencode(_values(shape.query, choice))
    kind, body = _body(shape, choice)
    headers = tuple(_values(shape.headers, choice).items())
    if kind and "content-type" not in shape.headers:
        headers = (("content-type", kind), *headers)
    return Witness(method, place + quote(path, safe="/%:@!$&'()*+,;=~") + (f"?{query}" if query else ""), headers, body)


def _host(host: HostPattern) -> str:
    return ".".join(
        ANY if label == STAR else name.replace("_", "-") if name else label
        for label, name in zip(host.labels, host.names, strict=True)
    )


def _paths(path: PathPattern) -> Iterator[str]:
    if path.glob is not None:
        yield ANY.join(path.glob)
        yield f"{ANY}/{ANY}".join(path.glob)
        return
    start = "/".join(["", *(f"{part.prefix}{part.name}{part.suffix}" for part in path.segments)])
    if path.tail is None:
        yield start
        return
    for rest in (ANY, f"{ANY}/{ANY}", ""):
        yield f"{start}/{path.tail}{rest}"


def _choices(shape: Shape) -> int:
    tables = (shape.query, shape.headers, shape.form, shape.json)
    counts = [len(wanted) for table in tables for wanted in table.values()]
    return max([1, *counts, *([len(shape.graphql.fields)] if shape.graphql else [])])


def _values(table: Patterns, choice: int) -> dict[str, str]:
    return {name: _value(wanted, choice) for name, wanted in table.items()}


def _value(wanted: Sequence[ValuePattern], choice: int) -> str:
    pattern = wanted[choice % len(wanted)]
    return (pattern.name or ANY).join(pattern.runs)


def _body(shape: Shape, choice: int) -> tuple[str, bytes | None]:
    """The media type and the body that its `form`, `json` and `graphql` ask for."""
    if shape.form:
        return FORM, urlencode(_values(shape.form, choice)).encode()
    if not shape.json and shape.graphql is None:
        return "", None
    value: dict[str, object] = {} if shape.graphql is None else {"query": _document(shape.graphql, choice)}
    for pointer, text in _values(shape.json, choice).items():
        _put(value, [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")], text)
    return "application/json", json.dumps(value).encode()


def _document(graphql: GraphQL, choice: int) -> str:
    return f"{graphql.operation} {{ {_value(graphql.fields, choice) if graphql.fields else ANY} }}"


def _put(table: dict[str, object], tokens: Sequence[str], text: str) -> None:
    """Set what a JSON pointer leads to; a number in it is a member here, which the pointer finds as well."""
    *outer, last = tokens
    for token in outer:
        inner = table.setdefault(token, {})
        if not isinstance(inner, dict):
            return
        table = inner
    table[last] = text
