"""Hazards: what a pack may say and its author should look at again (design.md section 2). They never refuse a load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from effectgate.policy.catalog import Catalog
from effectgate.policy.check import vouches
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.fault import Fault
from effectgate.policy.host import HostPattern
from effectgate.policy.lint_pairs import pair_hazards
from effectgate.policy.pack import Pack
from effectgate.policy.vocabulary import Level, Risk

# What `inspect` may hold without a word: every such request in flight holds as much memory.
LARGE_INSPECT = 16 << 20

# A hazard: its kind, what is dangerous, what to do.
Hazard = tuple[str, str, str]


def lint(packs: Sequence[Pack], catalog: Catalog) -> list[Fault]:
    """Every hazard of the packs, where several shapes share one at the first; `catalog` is of all their effects."""
    out: list[Fault] = []
    for pack in packs:
        for effect in pack.effects:
            out += _effect_hazards(pack, effect)
            for shape in effect.shapes or catalog.shapes(effect.id):
                out += _shape_hazards(pack, effect, shape)
        out += _untested(pack)
    out += pair_hazards(packs, catalog)
    first: dict[tuple[str, str, str], Fault] = {}
    for fault in sorted(out):
        first.setdefault((fault.file, fault.hazard, fault.message), fault)
    return list(first.values())


def _effect_hazards(pack: Pack, effect: Effect) -> Iterator[Fault]:
    for rule in _EFFECT_RULES:
        for kind, message, fix in rule(effect):
            yield pack.document.fault(pack.effect_path(effect), f"{effect.id} {message}", fix, kind)


def _shape_hazards(pack: Pack, effect: Effect, shape: Shape) -> Iterator[Fault]:
    for rule in _SHAPE_RULES:
        for kind, message, fix in rule(shape):
            yield pack.document.fault(pack.shape_path(effect, shape), f"a shape of {effect.id} {message}", fix, kind)


def _untested(pack: Pack) -> Iterator[Fault]:
    seen = {example.effect for example in pack.examples}
    for effect in pack.effects:
        if effect.id not in seen:
            message = f"no example names {effect.id}"
            yield pack.document.fault(pack.effect_path(effect), message, "add an [[example]] for it", "untested")


def _shapeless(effect: Effect) -> Iterator[Hazard]:
    if vouches(effect):
        carried = "every GET, HEAD and OPTIONS" if effect.risk is Risk.READ else "every request"
        yield "shapeless", f"has no shape and admits {carried} to its hosts", "write shapes in matches.http"


def _unused_hosts(effect: Effect) -> Iterator[Hazard]:
    written = [HostPattern.parse(host) for host in effect.hosts if effect.shapes and not host.startswith("@")]
    for host in written:
        if not any(shape.host.intersects(host) for shape in effect.shapes):
            yield "unused-host", f"lists {host.text}, which no shape of it reaches", "remove the host, or add a shape"


def _never(effect: Effect) -> Iterator[Hazard]:
    if effect.level is Level.NEVER:
        yield "never", "has the level never, so no grant can hold it", "write level = low_risk, or remove the effect"


def _command_fragments(effect: Effect) -> Iterator[Hazard]:
    for text in effect.commands:
        last = text.split()[-1]
        if last.endswith(("-", "/", "=", ":")) and last.strip("-"):
            fix = f"write {last + '*'!r} for any ending"
            yield "fragment", f"has the command {text!r}, whose last word is whole and looks like a beginning", fix


def _written_files(effect: Effect) -> Iterator[Hazard]:
    for shape in effect.files:
        if effect.risk is Risk.READ and shape.op != "read":
            yield "file-risk", f"is a read and matches {shape.op} of {shape.path.text}", "raise the risk"


def _middle_star(shape: Shape) -> Iterator[Hazard]:
    if shape.path.glob is not None:
        fix = "write {name} for each segment"
        yield "middle-star", f"has `*` in mid-path, which crosses `/`: {shape.path.text}", fix


def _private_suffix(shape: Shape) -> Iterator[Hazard]:
    if (suffix := shape.host.private_suffix()) and shape.host.names[0] not in shape.tenant:
        message = f"covers everybody's sites under {suffix}"
        yield "private-suffix", message, "name the host, or bind it as {name} and list it in tenant"


def _cleartext(shape: Shape) -> Iterator[Hazard]:
    if shape.scheme == "http" and not shape.because:
        yield (
            "cleartext",
            f"goes to {shape.host.text} without TLS",
            'leave scheme out, or keep it and say why in because = "…"',
        )


def _large_inspect(shape: Shape) -> Iterator[Hazard]:
    if shape.inspect > LARGE_INSPECT:
        yield "large-inspect", f"may hold {shape.inspect} bytes of each body", "lower inspect"


def _unreachable(shape: Shape) -> Iterator[Hazard]:
    if shape.methods & {"TRACE", "CONNECT"}:
        yield "unreachable", "lists TRACE or CONNECT, which are never forwarded", "remove the method"


def _literal_arguments(shape: Shape) -> Iterator[Hazard]:
    """docs/adr/0060: an argument written in the document is no variable, and the field's arguments bind nothing."""
    for pointer, wanted in shape.json.items() if shape.graphql is not None else ():
        if pointer.startswith("/variables/") and any(pattern.name for pattern in wanted):
            message = f"binds a parameter from {pointer}, which an argument written in the document passes by"
            yield "document-argument", message, "bind it elsewhere, or leave it out: no `where` can hold it"


_EFFECT_RULES: tuple[Callable[[Effect], Iterator[Hazard]], ...] = (
    _shapeless,
    _unused_hosts,
    _never,
    _command_fragments,
    _written_files,
)
_SHAPE_RULES: tuple[Callable[[Shape], Iterator[Hazard]], ...] = (
    _middle_star,
    _private_suffix,
    _cleartext,
    _large_inspect,
    _unreachable,
    _literal_arguments,
)
