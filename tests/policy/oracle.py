"""The rules of design.md section 2 (Recognition and admission, 1 to 4) by brute force, for short requests.

Every reading of the path is listed, every shape of every effect is tried on each with a regular expression, and nothing is remembered.
It shares with the product the parsing of patterns and of requests, and `strictly_contained`; those have tables and brute force of
their own (test_facts.py, test_containment.py, test_language.py).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_plus

from effectgate.policy.catalog import Catalog
from effectgate.policy.containment import strictly_contained
from effectgate.policy.effect import Shape
from effectgate.policy.facts import RequestFacts
from effectgate.policy.grant import Grant, GrantEntry
from effectgate.policy.value import ValuePattern

FALSE, UNREADABLE, TRUE = range(3)
FORM = "application/x-www-form-urlencoded"
PARAMETER = re.compile(r"\{(\w+)\}")
Bound = dict[str, str]


@dataclass(frozen=True)
class Answer:
    """What both must agree on."""

    verdict: str
    effect: str | None
    recognised: frozenset[str]
    would_admit: tuple[tuple[str, tuple[str, ...]], ...]


# ---- readings ----


def readings(segments: Sequence[str]) -> set[tuple[str, ...]]:
    """Every reading of decoded segments but for letters: `%2F` a slash or not, empty segments and `;parameters` there or not."""
    out = set()
    for slashed in _slashes("/".join(segments)):
        for kept in itertools.product(*(_cut(segment) for segment in slashed.split("/"))):
            out |= set(_without_empty(kept))
    return out


def _slashes(text: str) -> Iterator[str]:
    pieces = text.split("%2F")
    for joints in itertools.product(("%2F", "/"), repeat=len(pieces) - 1):
        yield pieces[0] + "".join(joint + piece for joint, piece in zip(joints, pieces[1:], strict=True))


def _cut(segment: str) -> set[str]:
    head, *parameters = segment.split(";")
    chosen = itertools.product((True, False), repeat=len(parameters))
    return {head + "".join(f";{p}" for p, keep in zip(parameters, keeps, strict=True) if keep) for keeps in chosen}


def _without_empty(segments: Sequence[str]) -> Iterator[tuple[str, ...]]:
    places = [at for at, text in enumerate(segments) if not text]
    for gone in itertools.chain.from_iterable(itertools.combinations(places, n) for n in range(len(places) + 1)):
        yield tuple(text for at, text in enumerate(segments) if at not in gone)


# ---- patterns as regular expressions ----


def _regex(text: str, one: str, run: str) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\}|\*)", text)
    spelled = (
        run if part == "*" else f"(?P<{part[1:-1]}>{one})" if PARAMETER.fullmatch(part) else re.escape(part)
        for part in parts
    )
    return re.compile("".join(spelled), re.DOTALL)


def _match(text: str, word: str, one: str, run: str, fold: bool) -> Bound | None:
    """ASCII texts only where `fold` is set: their case folding keeps lengths, so spans hold in the unfolded word."""
    if fold:
        names = PARAMETER.findall(text)
        text = re.sub(r"\{\w+\}", "{}", text.casefold()).format(*(f"{{{name}}}" for name in names))
    found = _regex(text, one, run).fullmatch(word.casefold() if fold else word)
    return None if found is None else {name: word[slice(*found.span(name))] for name in found.groupdict()}


def text_match(text: str, reading: Sequence[str], fold: bool) -> Bound | None:
    """What a path pattern binds on one reading."""
    return _match(text, "".join(f"/{segment}" for segment in reading), "[^/]+", ".*", fold)


def path_match(shape: Shape, reading: Sequence[str], fold: bool) -> Bound | None:
    """What the shape's path binds on one reading."""
    return text_match(shape.path.text, reading, fold or shape.fold)


def host_match(shape: Shape, host: str) -> Bound | None:
    """What the shape's host binds."""
    return _match(shape.host.text, host, r"[^.]+", r"[^.]+(?:\.[^.]+)*", False)


# ---- discriminators ----


@dataclass(frozen=True)
class Carrier:
    """Pairs of a query, a form or a header; `hidden` and `cut` are those that a server sees which takes `;` for `&`."""

    pairs: tuple[tuple[str, str], ...] = ()
    hidden: tuple[tuple[str, str], ...] = ()
    cut: tuple[tuple[str, str], ...] = ()

    def values(self, name: str, fold: bool) -> set[str]:
        """Hidden and cut pairs count when letters are folded; hidden ones else only against a value that is there."""
        if fold:
            every = self.pairs + self.hidden + self.cut
            return {value for known, value in every if known.casefold() == name.casefold()}
        plain = {value for known, value in self.pairs if known == name}
        return plain | {value for known, value in self.hidden if known == name} if plain else set()


def _carrier(text: str | None) -> Carrier | None:
    def pair(part: str) -> tuple[str, str]:
        name, _, value = part.partition("=")
        return unquote_plus(name, errors="strict"), unquote_plus(value, errors="strict")

    parts = [part for part in (text or "").split("&") if part]
    try:
        hidden = [pair(later) for part in parts for later in part.split(";")[1:] if later]
        cut = [pair(part.split(";")[0]) for part in parts if ";" in part and part[0] != ";"]
        return Carrier(tuple(map(pair, parts)), tuple(hidden), tuple(cut))
    except UnicodeDecodeError:
        return None


def _media_types(facts: RequestFacts) -> set[str]:
    return {value.partition(";")[0] for value in facts.header("content-type")}


def _form(facts: RequestFacts) -> Carrier | None:
    if not facts.body.present:
        return Carrier()
    if facts.body.content is None or _media_types(facts) != {FORM} or facts.header("content-encoding"):
        return None
    return _carrier(facts.body.content.decode("ascii")) if facts.body.content.isascii() else None


def truth(shape: Shape, facts: RequestFacts, fold: bool) -> tuple[int, Bound]:
    """The shape's discriminators together, and what the true ones bind."""
    query, form = _carrier(facts.query), _form(facts)
    beside = form if _media_types(facts) & {FORM, "multipart/form-data"} else Carrier()
    worth, bound = TRUE, Bound()
    for patterns, carrier, other in (
        (shape.query, query, beside),
        (shape.headers, Carrier(facts.headers), Carrier()),
        (shape.form, form, query),
    ):
        for name, wanted in patterns.items():
            one, taken = _value(name, wanted, carrier, other, fold or shape.fold)
            worth = min(worth, one)
            bound |= taken
    return worth, bound


def _value(
    name: str,
    wanted: Iterable[ValuePattern],
    carrier: Carrier | None,
    other: Carrier | None,
    fold: bool,
) -> tuple[int, Bound]:
    if carrier is None:
        return UNREADABLE, {}
    mine = carrier.values(name, fold)
    if not mine:
        return FALSE, {}
    if other is None or len(mine | other.values(name, fold)) > 1:
        return UNREADABLE, {}
    for pattern in wanted:
        bound = _match(pattern.text, min(mine), ".+", ".*", fold)
        if bound is not None:
            return TRUE, bound
    return FALSE, {}


def conditions(shape: Shape, facts: RequestFacts) -> bool:
    """What a shape asks that is no part of its set."""
    query = _carrier(facts.query)
    return (
        (shape.body or not facts.body.present or facts.method not in ("GET", "HEAD", "OPTIONS"))
        and (shape.websocket or not facts.websocket)
        and (shape.encoded_slash or not facts.encoded_slash)
        and not any(name in shape.absent for name, _ in facts.headers)
        and (
            shape.query_only is None
            or (query is not None and {name for name, _ in query.pairs} <= shape.query_only | shape.query.keys())
        )
    )


# ---- the rules ----


class Rules:
    """One request against one catalog and grant."""

    def __init__(self, catalog: Catalog, grant: Grant, facts: RequestFacts) -> None:
        self.catalog, self.grant, self.facts = catalog, grant, facts
        self.readings = readings(facts.segments)
        self.held = {effect: self._covers(effect) for effect in catalog.effects}

    def _transport(self, shape: Shape) -> bool:
        facts = self.facts
        return (
            shape.scheme == facts.scheme
            and facts.port in shape.ports
            and (not shape.methods or facts.method in shape.methods)
            and host_match(shape, facts.host) is not None
        )

    def names(self, shape: Shape) -> bool:
        """Rule 1."""
        return (
            self._transport(shape)
            and path_match(shape, self.facts.segments, False) is not None
            and truth(shape, self.facts, False)[0] == TRUE
            and conditions(shape, self.facts)
        )

    def matching(self, shape: Shape) -> list[tuple[str, ...]]:
        """The readings on which a shape matches where it could block: letters folded, conditions not asked."""
        if not self._transport(shape) or truth(shape, self.facts, True)[0] == FALSE:
            return []
        return [r for r in self.readings if path_match(shape, r, True) is not None]

    def bindings(self, shape: Shape) -> list[Bound]:
        """What a shape binds, on each of those readings; an unreadable discriminator binds nothing."""
        host = host_match(shape, self.facts.host) or {}
        values = [truth(shape, self.facts, True)[1]]
        if truth(shape, self.facts, False)[0] == TRUE:
            values.append(truth(shape, self.facts, False)[1])
        paths = [path_match(shape, r, True) or {} for r in self.matching(shape)]
        return [host | value | path for value in values for path in paths]

    def _covers(self, effect: str) -> bool:
        """A scoped entry covers a request only if it covers every match, on every reading; several may share them."""
        entries = self.grant.entries.get(effect, ())
        return bool(entries) and all(
            any(_within(entry, bound, shape) for entry in entries)
            for shape in self.catalog.shapes(effect)
            for bound in self.bindings(shape)
        )

    def blockers(self, effect: str, held: Mapping[str, bool]) -> list[str]:
        """Rule 2."""
        return sorted(e for e in self.catalog.effects if e != effect and not held[e] and self._blocks(e, effect))

    def _blocks(self, blocker: str, effect: str) -> bool:
        e, g = self.catalog.effects[blocker], self.catalog.effects[effect]
        shapes = [shape for shape in self.catalog.shapes(blocker) if self.matching(shape)]
        if e.reserved:
            return bool(shapes)
        return e.risk > g.risk and any(not self._excused(shape, effect) for shape in shapes)

    def _excused(self, shape: Shape, effect: str) -> bool:
        mine = self.catalog.shapes(effect)
        if shape.vouch and any(self.names(s) and not s.vouch for s in mine):
            return True
        inner = [s for s in mine if self._sure(s) and strictly_contained(s, shape)]
        return all(any(path_match(s, r, False) is not None for s in inner) for r in self.matching(shape))

    def _sure(self, shape: Shape) -> bool:
        """ADR 0013: an excusing shape holds its own conditions, and is true in the letters of the request and with them folded."""
        return (
            self._transport(shape)
            and conditions(shape, self.facts)
            and truth(shape, self.facts, False)[0] == truth(shape, self.facts, True)[0] == TRUE
        )

    def named(self) -> list[str]:
        """The effects that name the request."""
        return [e for e in self.catalog.effects if any(self.names(s) for s in self.catalog.shapes(e))]

    def admitting(self) -> list[str]:
        """Rule 2, over the grant as it is."""
        return [e for e in self.named() if self.held[e] and not self.blockers(e, self.held)]

    def asks(self) -> set[tuple[str, tuple[str, ...]]]:
        """Rule 4, without the order."""
        return {(e, tuple(self.blockers(e, self.held | {e: True}))) for e in self.named()}

    def best(self) -> str:
        """Rule 3."""
        pool = [(s, self.catalog.effects[e]) for e in self.admitting() for s in self.catalog.shapes(e) if self.names(s)]
        inner = [(s, e) for s, e in pool if not any(strictly_contained(o, s) for o, _ in pool)]
        return min((_specificity(s), e.risk, e.id) for s, e in inner)[2]

    def answer(self) -> Answer:
        """The whole verdict, for a grant that is there and not expired, on an open port."""
        named = frozenset(self.named())
        if self.admitting() and self.grant.entries:
            return Answer("ALLOW", self.best(), named, ())
        return Answer("DENY", None, named, tuple(sorted(self.asks(), key=self._order)))

    def _order(self, ask: tuple[str, tuple[str, ...]]) -> tuple[object, ...]:
        effect, also = ask
        top = max(self.catalog.effects[e].risk for e in (effect, *also))
        return top, min(_specificity(s) for s in self.catalog.shapes(effect) if self.names(s)), effect


def _within(entry: GrantEntry, bound: Bound, shape: Shape) -> bool:
    return all(
        name in bound and any(v.covers(bound[name], shape.fold or name in shape.ignore_case) for v in values)
        for name, values in entry.where.items()
    )


def _specificity(shape: Shape) -> tuple[object, ...]:
    """Path segments from the left, host labels from the right, then more discriminator values without `*`."""
    path = [] if shape.vouch else [_kind(part) for part in shape.path.text[1:].split("/")]
    host = [_kind(label) for label in reversed(shape.host.text.split("."))]
    carriers = (shape.query, shape.headers, shape.form, shape.json)
    exact = [p for patterns in carriers for wanted in patterns.values() for p in wanted if "*" not in p.text]
    return (*path, 4), (*host, 4), -len(exact)


def _kind(part: str) -> int:
    """Literal, affixed parameter, parameter, with a star; absent is 4."""
    if "*" in part:
        return 3
    return 2 if PARAMETER.fullmatch(part) else 1 if PARAMETER.search(part) else 0


def decide_by_force(catalog: Catalog, grant: Grant, facts: RequestFacts) -> Answer:
    """The answer by brute force."""
    return Rules(catalog, grant, facts).answer()
