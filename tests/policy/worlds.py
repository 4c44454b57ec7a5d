"""Random packs, grants and requests for the laws: small alphabets, so that shapes meet, and requests made from the shapes themselves.

Hypothesis draws only the seed: a world from it costs a millisecond, so that thousands are tried; `described` prints what failed.
"""

from __future__ import annotations

import random
import string
from dataclasses import dataclass, replace
from typing import Any

from effectgate.policy.authority import EnvelopeError
from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.facts import RequestFacts, facts_from_url
from effectgate.policy.grant import Grant
from effectgate.policy.vocabulary import RISKS
from policy.build import effect, scoped, shape

HOSTS = ("api.test", "*.api.test", "api.test", "*.api.test", "{h}.api.test", "a.*.api.test", "other.test")
LITERALS = ("a", "b", "s", "S", "a", "b", "s", "S", "ab", "a;v", "a%2Fb", "k.git")
HOLES = ("{x}", "{y}", "{x}.git", "s{y}")
TAILS = ("", "", "/*", "/a*", "/")
GLOBS = ("/*/s", "/a/*/b", "/*a/b*", "/a*/s/*")
METHODS = ("GET", "GET", "GET POST", "POST", "GET HEAD", "DELETE")
WORDS = ("a", "b", "s", "S", "x1", "ab", "k.git", "sa")
VALUES: tuple[str | list[str], ...] = ("List", "L*", "D*", "*", ["List", "D*"], "{x}", "L{x}")
SPELLED = ("List", "list", "LIST", "Drop", "x", "L;", "", "L;Act=Drop")
STRAY = ("act=Drop", "Act=%ff", "Act=D%72op", "page=1", "ACT=List", "+Act=x", "z=1;Act=Drop")
FORM = ("content-type", "application/x-www-form-urlencoded")
MULTIPART = ("content-type", "multipart/form-data; boundary=x")
PADDINGS = ("//", "tail", "inside;", "end;", "case", "slash", "percent", "first;")


@dataclass(frozen=True)
class Request:
    """A request in parts, before and after padding; `facts` is None where it is ambiguous."""

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


class World:
    """Everything that one seed makes; each method goes on where the last one stopped."""

    def __init__(self, seed: int, most: int = 6) -> None:
        self.dice = random.Random(seed)
        self.effects = tuple(self._effect(number) for number in range(self.dice.randint(1, most)))

    @property
    def catalog(self) -> Catalog:
        """A fresh catalog, without remembered outcomes."""
        return Catalog.build(self.effects)

    def rarely(self, one_in: int = 4) -> bool:
        """True once in so many times."""
        return self.dice.randrange(one_in) == 0

    # ---- packs ----

    def path(self) -> str:
        """A path pattern; each {name} at most once."""
        dice = self.dice
        if self.rarely(6):
            return dice.choice(GLOBS)
        parts: list[str] = []
        for _ in range(dice.randint(0, 3)):
            part = dice.choice(LITERALS + HOLES * 2)
            if not any(name in part and name in "".join(parts) for name in ("{x}", "{y}")):
                parts.append(part)
        tail = dice.choice(TAILS)
        return "".join(f"/{part}" for part in parts) + (tail or ("" if parts else "/"))

    def shape(self) -> Shape:
        """A shape, mostly plain, now and then with discriminators and conditions."""
        path, keys = self.path(), dict[str, Any]()
        if self.rarely():
            keys["query"] = {"Act": self.dice.choice(VALUES[:5] if "{x}" in path else VALUES)}
        if self.rarely(12):
            keys["form"] = {"Act": self.dice.choice(VALUES[:5])}
        if self.rarely(12):
            keys["headers"] = {"x-op": self.dice.choice(VALUES[:5])}
        if self.rarely(10):
            keys["query_only"] = frozenset({"page"})
        if self.rarely(10):
            keys["absent"] = frozenset({"x-bad"})
        keys["body"], keys["encoded_slash"], keys["fold"] = self.rarely(), self.rarely(), self.rarely(10)
        keys["ignore_case"] = frozenset({"x"}) if self.rarely() else frozenset()
        return shape(f"{self.dice.choice(METHODS)} {self.dice.choice(HOSTS)}{path}", **keys)

    def _effect(self, number: int) -> Effect:
        risk, reserved = self.dice.choice(tuple(RISKS)), self.rarely(5)
        if self.rarely(6):
            host = self.dice.choice(("api.test", "*.api.test", "other.test"))
            return effect(f"p{number}/vouch", risk, hosts=(host,), reserved=reserved)
        return effect(f"p{number}/e", risk, *(self.shape() for _ in range(self.dice.randint(1, 3))), reserved=reserved)

    def grant(self) -> Grant:
        """Some of the effects, now and then narrowed by parameters that all of their shapes bind."""
        catalog, entries = self.catalog, list[tuple[str, dict[str, str | list[str]]]]()
        for effect_id in catalog.effects:
            for _ in range(self.dice.choice((0, 0, 1, 1, 2))):
                names = sorted(catalog.parameters(effect_id))
                entries.append((effect_id, {n: self._scope() for n in names if self.rarely(2)}))
        return scoped(catalog, *entries)

    def _scope(self) -> str | list[str]:
        texts = ("a", "s", "=x1", "*", "a*", "b", "S")
        return list(self.dice.sample(texts, 2)) if self.rarely() else self.dice.choice(texts)

    # ---- requests ----

    def request(self) -> Request:
        """A plain request that some shape of these effects was meant for."""
        catalog = self.catalog
        chosen = self.dice.choice([s for e in self.effects for s in catalog.shapes(e.id)])
        method = self.dice.choice(sorted(chosen.methods) or ["GET", "POST"])
        host = self._filled(chosen.host.text, ("a", "b", "a.b"), ("a", "b"))
        path = self._filled(chosen.path.text, ("", "a", "s", "b/s", "x1/S"), WORDS)
        return self._dressed(Request(method, host, path), chosen)

    def _filled(self, text: str, runs: tuple[str, ...], words: tuple[str, ...]) -> str:
        for hole in ("{x}", "{y}", "{h}"):
            text = text.replace(hole, self.dice.choice(words))
        while "*" in text:
            text = text.replace("*", self.dice.choice(runs), 1)
        return text

    def _dressed(self, request: Request, chosen: Shape) -> Request:
        """Headers, query and body that the shape's discriminators may take, or just miss."""
        dice = self.dice
        query = [f"{name}={dice.choice(SPELLED)}" for name in chosen.query for _ in range(dice.choice((1, 1, 1, 2, 0)))]
        query += [dice.choice(STRAY)] if self.rarely() else []
        headers: list[tuple[str, str]] = []
        if chosen.headers or self.rarely(9):
            headers += [("X-Op", dice.choice(SPELLED[:5])) for _ in range(dice.choice((1, 1, 2)))]
        headers += [("x-bad", "1")] if self.rarely(9) else []
        body = None
        if chosen.form or self.rarely(9):
            body = dice.choice((b"Act=List", b"act=Drop", b"Act=List&Act=Drop", b"Act=%ff", b"x"))
            headers += dice.choice(([FORM], [FORM], [MULTIPART], []))
        return replace(request, query="&".join(query) or None, headers=tuple(headers), body=body)

    def padded(self, request: Request, kinds: tuple[str, ...] = PADDINGS) -> Request:
        """The request in another spelling that some server takes for the same."""
        path = request.path
        for _ in range(self.dice.choice((1, 1, 2, 3))):
            path = self._padded(path, self.dice.choice(kinds))
        return replace(request, path=path)

    def _padded(self, path: str, kind: str) -> str:
        at = self.dice.choice([place for place, char in enumerate(path) if char == "/"])
        letters = [] if "%" in path else [place for place, char in enumerate(path) if char in string.ascii_letters]
        place = self.dice.choice(letters) if letters else 0
        letter, before, after = path[place], path[:place], path[place + 1 :]
        return {
            "//": path[:at] + "/" + path[at:],
            "tail": path + "/",
            "inside;": path[:at] + ";w" * (at > 0) + path[at:],
            "first;": path[:at] + "/;w" + path[at:],
            "end;": path + ";w=1",
            "slash": path[:at] + "%2F" + path[at + 1 :] if at else path,
            "case": before + letter.swapcase() + after,
            "percent": before + f"%{ord(letter):02x}" + after if place else path,
        }[kind]

    def spelled(self) -> Request:
        """A request, in half of the cases padded."""
        request = self.request()
        return self.padded(request) if self.rarely(2) else request


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
