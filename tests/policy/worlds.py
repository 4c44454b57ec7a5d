"""Random packs, grants and requests for the laws: small alphabets, so that shapes meet, and requests made from the shapes themselves."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from effectgate.policy.authority import EnvelopeError
from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.facts import RequestFacts, facts_from_url
from effectgate.policy.grant import Grant
from effectgate.policy.vocabulary import RISKS
from policy.build import effect, scoped, shape

HOSTS = ("api.test", "*.api.test", "{h}.api.test", "a.*.api.test", "other.test")
LITERALS = ("a", "b", "s", "S", "ab", "a;v", "a%2Fb", "k.git")
HOLES = ("{x}", "{y}", "{x}.git", "s{y}")
TAILS = ("", "/*", "/a*", "/")
GLOBS = ("/*/s", "/a/*/b", "/*a/b*", "/a*/s/*")
METHODS = ("GET", "GET POST", "POST", "GET HEAD", "DELETE")
WORDS = ("a", "b", "s", "S", "x1", "ab", "k.git", "sa")
VALUES: tuple[str | list[str], ...] = ("List", "L*", "D*", "*", "{x}", "L{x}", ["List", "D*"])
FORM = ("content-type", "application/x-www-form-urlencoded")
RARELY = st.sampled_from((False, False, False, True))
SPELLED = st.sampled_from(("List", "list", "LIST", "Drop", "x", "L;", ""))


@dataclass(frozen=True)
class World:
    """Effects, and a request in parts: method, host, segments (raw), query, headers, body."""

    effects: tuple[Effect, ...]
    request: Request

    @property
    def catalog(self) -> Catalog:
        """A fresh catalog, without remembered outcomes."""
        return Catalog.build(self.effects)


@dataclass(frozen=True)
class Request:
    """A request before it is padded; `facts` is None where it is ambiguous."""

    method: str
    host: str
    path: str
    query: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None

    @property
    def facts(self) -> RequestFacts | None:
        """The request's facts, or None where none exist."""
        query = "" if self.query is None else f"?{self.query}"
        try:
            return facts_from_url(self.method, f"https://{self.host}{self.path}{query}", self.headers, self.body)
        except EnvelopeError:
            return None


@st.composite
def paths(draw: st.DrawFn) -> str:
    """A path pattern; one {name} at most once."""
    if draw(RARELY):
        return draw(st.sampled_from(GLOBS))
    parts: list[str] = []
    for part in draw(st.lists(st.sampled_from(LITERALS[:4] * 2 + LITERALS + HOLES * 2), max_size=3)):
        if not any(name in part and name in "".join(parts) for name in ("{x}", "{y}")):
            parts.append(part)
    tail = draw(st.sampled_from(TAILS))
    return "".join(f"/{part}" for part in parts) + (tail or ("" if parts else "/"))


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """A shape, mostly plain, now and then with discriminators and conditions."""
    host = draw(st.sampled_from(HOSTS[:2] * 3 + HOSTS))
    keys: dict[str, Any] = {}
    if draw(RARELY):
        keys["query"] = {"Act": draw(st.sampled_from(VALUES[:4] if "{x}" in host else VALUES))}
    if draw(RARELY) and draw(RARELY):
        keys["form"] = {"Act": draw(st.sampled_from(VALUES[:4]))}
    if draw(RARELY) and draw(RARELY):
        keys["headers"] = {"x-op": draw(st.sampled_from(VALUES[:4]))}
    if draw(RARELY) and draw(RARELY):
        keys["query_only"] = frozenset({"page"})
    if draw(RARELY) and draw(RARELY):
        keys["absent"] = frozenset({"x-bad"})
    keys["body"] = draw(RARELY)
    keys["encoded_slash"] = draw(RARELY)
    keys["fold"] = draw(RARELY) and draw(RARELY)
    keys["ignore_case"] = frozenset({"x"}) if draw(RARELY) else frozenset()
    path = draw(paths())
    if "{x}" in path and "query" in keys:
        keys["query"] = {"Act": "D*"}
    return shape(f"{draw(st.sampled_from(METHODS))} {host}{path}", **keys)


@st.composite
def effects(draw: st.DrawFn, number: int) -> Effect:
    """An effect of a pack named by its number: shapes, or a vouch."""
    risk = draw(st.sampled_from(tuple(RISKS)))
    reserved = draw(RARELY)
    if draw(st.integers(0, 5)) == 0:
        host = draw(st.sampled_from(("api.test", "*.api.test", "other.test")))
        return effect(f"p{number}/vouch", risk, hosts=(host,), reserved=reserved)
    made = draw(st.lists(shapes(), min_size=1, max_size=3))
    return effect(f"p{number}/e", risk, *made, reserved=reserved)


@st.composite
def bodies(draw: st.DrawFn, chosen: Shape) -> dict[str, Any]:
    """Headers, query and body that the shape's discriminators may take, or just miss."""
    out: dict[str, Any] = {"headers": ()}
    query = [f"{n}={draw(SPELLED)}" for n in chosen.query for _ in range(draw(st.sampled_from((1, 1, 1, 2, 0))))]
    if draw(RARELY):
        query.append(draw(st.sampled_from(("act=Drop", "Act=%ff", "Act=D%72op", "page=1", "ACT=List", "+Act=x"))))
    if query:
        out["query"] = "&".join(query)
    if chosen.headers or draw(st.integers(0, 9)) == 0:
        out["headers"] += tuple(("X-Op", draw(SPELLED).strip() or "x") for _ in range(draw(st.sampled_from((1, 1, 2)))))
    if draw(st.integers(0, 9)) == 0:
        out["headers"] += (("x-bad", "1"),)
    if chosen.form or draw(st.integers(0, 9)) == 0:
        out["body"] = draw(st.sampled_from((b"Act=List", b"act=Drop", b"Act=List&Act=Drop", b"Act=%ff", b"x")))
        if draw(st.integers(0, 3)):
            out["headers"] += (FORM,)
    return out


@st.composite
def requests(draw: st.DrawFn, pack: tuple[Effect, ...]) -> Request:
    """A plain request that some shape of these effects was meant for."""
    catalog = Catalog.build(pack)
    chosen = draw(st.sampled_from([shape for e in pack for shape in catalog.shapes(e.id)]))
    method = draw(st.sampled_from(sorted(chosen.methods) or ["GET", "POST"]))
    host = _filled(draw, chosen.host.text, ("a", "b", "a.b"), ("a", "b"))
    path = _filled(draw, chosen.path.text, ("", "a", "s", "b/s", "x1/S"), WORDS)
    return Request(method, host, path, **draw(bodies(chosen)))


def _filled(draw: st.DrawFn, text: str, runs: tuple[str, ...], words: tuple[str, ...]) -> str:
    for hole in ("{x}", "{y}", "{h}"):
        if hole in text:
            text = text.replace(hole, draw(st.sampled_from(words)))
    while "*" in text:
        text = text.replace("*", draw(st.sampled_from(runs)), 1)
    return text


PADDINGS = ("//", "tail", "mid;", ";end", "case", "slash", "percent", ";first", "dots")


@st.composite
def padded(draw: st.DrawFn, request: Request, kinds: tuple[str, ...] = PADDINGS) -> Request:
    """The request in another spelling that some server takes for the same."""
    path = request.path
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)):
        at = draw(st.sampled_from([i for i, c in enumerate(path) if c == "/"]))
        path = _padded(draw, path, at, kind)
    return Request(request.method, request.host, path, request.query, request.headers, request.body)


def _padded(draw: st.DrawFn, path: str, at: int, kind: str) -> str:
    if kind == "//":
        return path[:at] + "/" + path[at:]
    if kind == "tail":
        return path + "/"
    if kind in ("mid;", ";first"):
        return path[:at] + ("/;w" if kind == ";first" else ";v" if at else "") + path[at:]
    if kind == ";end":
        return path + ";w=1"
    if kind == "slash":
        return path[:at] + "%2F" + path[at + 1 :] if at else path
    letters = [i for i, c in enumerate(path) if c in string.ascii_letters and not path[max(0, i - 2) : i].endswith("%")]
    if not letters or "%" in path:
        return path
    place = draw(st.sampled_from(letters))
    letter = path[place]
    return path[:place] + (letter.swapcase() if kind == "case" else f"%{ord(letter):02x}") + path[place + 1 :]


@st.composite
def worlds(draw: st.DrawFn, most: int = 6) -> World:
    """Effects and a request for one of them, in half of the cases padded."""
    pack = tuple(draw(effects(number)) for number in range(draw(st.integers(1, most))))
    request = draw(requests(pack))
    if draw(st.booleans()):
        request = draw(padded(request))
    return World(pack, request)


@st.composite
def grants(draw: st.DrawFn, catalog: Catalog) -> Grant:
    """Some of the effects; now and then narrowed by a parameter that all of its shapes bind."""
    entries: list[tuple[str, dict[str, str | list[str]]]] = []
    for effect_id in catalog.effects:
        if not draw(st.booleans()):
            continue
        names = sorted(catalog.parameters(effect_id))
        for _ in range(draw(st.sampled_from((1, 1, 2)))):
            where = {n: draw(st.sampled_from(("a", "s", "=x1", "*", "a*"))) for n in names if draw(st.booleans())}
            entries.append((effect_id, dict(where)))
    return scoped(catalog, *entries)


def described(catalog: Catalog, grant: Grant, facts: RequestFacts) -> str:
    """A failing example on a few lines."""
    lines = [f"{facts.method} {facts.host}{facts.path} ?{facts.query} {facts.headers} {facts.body}"]
    for effect_id, made in catalog.effects.items():
        lines.append(f"{effect_id} {made.risk.word}{' reserved' if made.reserved else ''} {list(made.hosts)}")
        lines += [f"    {_written(s)}" for s in made.shapes]
    for effect_id, entries in grant.entries.items():
        lines.append(
            f"granted {effect_id} {[{n: [v.facts() for v in vs] for n, vs in e.where.items()} for e in entries]}"
        )
    return "\n".join(lines)


def _written(made: Shape) -> str:
    names = ("query", "headers", "form")
    tables = {n: {k: [p.text for p in v] for k, v in getattr(made, n).items()} for n in names if getattr(made, n)}
    flags = [n for n in ("body", "encoded_slash", "fold", "query_only", "absent", "ignore_case") if getattr(made, n)]
    return f"{','.join(sorted(made.methods))} {made.host.text}{made.path.text} {tables or ''} {flags or ''}"
