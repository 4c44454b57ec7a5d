"""What two catalogues say differently of each effect: its words, its shapes, its tools and commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from effectgate.policy.catalog import Catalog
from effectgate.policy.containment import carriers, contained
from effectgate.policy.effect import Effect, Shape

ADDED, REMOVED, CHANGED = "added", "removed", "changed"


@dataclass(frozen=True, slots=True, eq=False)
class EffectChange:
    """One effect that is not in both catalogues alike. `shapes` are those of either that the other lacks."""

    effect: str
    title: str
    kind: str
    notes: tuple[str, ...]
    shapes: tuple[Shape, ...]


def effect_changes(old: Catalog, new: Catalog) -> list[EffectChange]:
    """Every effect that was added, removed or changed, by id."""
    ids = sorted(old.effects.keys() | new.effects.keys())
    return [change for effect in ids if (change := _change(old, new, effect))]


def _change(old: Catalog, new: Catalog, effect: str) -> EffectChange | None:
    before, after = old.effects.get(effect), new.effects.get(effect)
    if after is None and before is not None:
        return EffectChange(effect, before.title, REMOVED, (_standing(before),), tuple(old.shapes(effect)))
    if after is None:
        return None
    if before is None:
        return EffectChange(effect, after.title, ADDED, (_standing(after),), tuple(new.shapes(effect)))
    if before.digest == after.digest:
        return None
    lost, gained = _unshared(old.shapes(effect), new.shapes(effect))
    notes = (*_words(before, after), *_shapes(lost, gained))
    return EffectChange(
        effect, after.title, CHANGED, notes or ("written otherwise, with the same meaning",), (*lost, *gained)
    )


def _standing(effect: Effect) -> str:
    count = len(effect.shapes)
    what = f"{count} shape{'s' * (count != 1)}" if count else "no shape"
    return f"{effect.risk.word}{', reserved' if effect.reserved else ''}, {what}"


def _words(before: Effect, after: Effect) -> Iterator[str]:
    """Everything but the shapes."""
    for name, was, now in (
        ("title", before.title, after.title),
        ("risk", before.risk.word, after.risk.word),
        ("level", before.level.word, after.level.word),
    ):
        if was != now:
            yield f"{name} was {was}, now {now}"
    if before.reserved is not after.reserved:
        yield "now reserved" if after.reserved else "no longer reserved"
    for name, had, has in (
        ("operation", before.operations, after.operations),
        ("sink", before.sinks, after.sinks),
        ("host", before.hosts, after.hosts),
        ("tool", before.tools, after.tools),
        ("command", before.commands, after.commands),
        ("file", _files(before), _files(after)),
        ("tenant parameter", sorted(before.tenant), sorted(after.tenant)),
        ("scope parameter", sorted(before.parameters or ()), sorted(after.parameters or ())),
    ):
        yield from (f"{name} gained: {text}" for text in has if text not in had)
        yield from (f"{name} lost: {text}" for text in had if text not in has)


def _files(effect: Effect) -> Sequence[str]:
    return [f"{shape.op} {shape.path.text}" for shape in effect.files]


def _unshared(before: Iterable[Shape], after: Iterable[Shape]) -> tuple[list[Shape], list[Shape]]:
    """The shapes that only the first has, and those that only the second has, spelt alike or not."""
    had, has = ({_key(shape): shape for shape in shapes} for shapes in (before, after))
    return [had[key] for key in had if key not in has], [has[key] for key in has if key not in had]


def _key(shape: Shape) -> tuple[object, ...]:
    """Equal for shapes that mean the same, word for word."""
    tables = {"query", "headers", "form", "json"}
    plain = [getattr(shape, part.name) for part in fields(shape) if part.name not in tables | {"graphql", "because"}]
    graphql = None if shape.graphql is None else (shape.graphql.operation, shape.graphql.fields)
    return (*plain, graphql, *(tuple(sorted(table.items(), key=lambda row: row[0])) for table in carriers(shape)))


def _shapes(lost: Sequence[Shape], gained: Sequence[Shape]) -> Iterator[str]:
    """A lost shape and a gained one that holds it, or lies within it, are one that was widened or narrowed."""
    left = list(gained)
    for shape in lost:
        heir = next((other for other in left if contained(shape, other) or contained(other, shape)), None)
        if heir is None:
            yield f"shape lost: {shape_text(shape)}"
            continue
        left.remove(heir)
        yield f"shape {_relation(shape, heir)}: {shape_text(shape)} -> {shape_text(heir)}"
    yield from (f"shape gained: {shape_text(shape)}" for shape in left)


def _relation(before: Shape, after: Shape) -> str:
    if not contained(before, after):
        return "narrowed"
    return "with other conditions" if contained(after, before) else "widened"


def shape_text(shape: Shape) -> str:
    """A shape in one line for people."""
    methods = ",".join(sorted(shape.methods)) or "any method"
    scheme = "" if shape.scheme == "https" else f"{shape.scheme}://"
    ports = "".join(f":{port}" for port in sorted(shape.ports)) if shape.ports_explicit else ""
    asked = [
        f"{carrier} {name}={'|'.join(pattern.text for pattern in wanted)}"
        for carrier, table in zip(("query", "header", "form", "json"), carriers(shape), strict=True)
        for name, wanted in table.items()
    ]
    if shape.graphql is not None:
        asked.append(f"graphql {shape.graphql.operation} {'|'.join(one.text for one in shape.graphql.fields)}".rstrip())
    return " ".join([methods, f"{scheme}{shape.host.text}{ports}{shape.path.text}", *asked, *_conditions(shape)])


def _conditions(shape: Shape) -> Iterator[str]:
    if shape.query_only is not None:
        yield f"query_only={','.join(sorted(shape.query_only)) or '(none)'}"
    if shape.absent:
        yield f"absent={','.join(sorted(shape.absent))}"
    flags = ("body", "websocket", "encoded_slash", "fold")
    yield from (flag for flag in flags if getattr(shape, flag) and not shape.vouch)
