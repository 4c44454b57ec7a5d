"""The faults of one effect that show between its keys (design.md 2, Faults); rules yield key, message, remedy."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from effectgate.policy.document import Document, KeyPath
from effectgate.policy.fault import Fault
from effectgate.policy.host import HostPattern
from effectgate.policy.pack_draft import EffectDraft
from effectgate.policy.pack_file import ShapeTable
from effectgate.policy.value import ValuePattern
from effectgate.policy.vocabulary import NETWORK_OPERATIONS, RISKS, SINKS, Risk

Found = Iterator[tuple[KeyPath, str, str]]

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# Risk -> the methods that need no `because`; other risks need none.
PLAIN_METHODS = {Risk.READ: _SAFE, Risk.WRITE_LOCAL: _SAFE | {"PUT", "POST"}}

# How many rows `matches.http` of one effect may have: checks between them take their square; and all effects of one pack together.
MAX_SHAPES = 500
MAX_PACK_SHAPES = 50_000


def count_faults(document: Document) -> Iterator[Fault]:
    """What is too much to be read at all; before anything else looks at the file."""
    total = 0
    effects = document.value.get("effect") if isinstance(document.value, dict) else None
    for index, effect in enumerate(effects if isinstance(effects, list) else ()):
        matches = effect.get("matches") if isinstance(effect, dict) else None
        rows = matches.get("http") if isinstance(matches, dict) else None
        count = len(rows) if isinstance(rows, list) else 0
        total += count
        if count > MAX_SHAPES:
            message = f"{count} shapes are more than the limit of {MAX_SHAPES} for one effect"
            yield document.fault(("effect", index, "matches", "http"), message, "share them out among several effects")
    if total > MAX_PACK_SHAPES:
        message = f"{total} shapes are more than the limit of {MAX_PACK_SHAPES} for one pack"
        yield document.fault(("effect",), message, "share them out among several packs")


def effect_faults(document: Document, draft: EffectDraft) -> Iterator[Fault]:
    """Every fault between the keys of one effect; a rule whose keys could not be read is silent."""
    for rule in _RULES:
        for path, message, fix in rule(draft):
            yield document.fault(path, message, fix)


def bound_names(shape: ShapeTable) -> Counter[str]:
    """How often a match of the shape binds each parameter; a discriminator counts where all its patterns bind it."""
    names = [*shape.path.parameters] if shape.path is not None else []
    if isinstance(shape.host, HostPattern):
        names += shape.host.parameters
    if shape.query or shape.headers or shape.form or shape.json_:
        for patterns in (shape.query, shape.headers, shape.form, shape.json_):
            names += [name for values in patterns.values() for name in _always(values)]
    return Counter(names)


def _always(values: list[ValuePattern]) -> frozenset[str]:
    return frozenset.intersection(*(value.parameters for value in values))


def _operations(draft: EffectDraft) -> Found:
    if draft.lowers is not None and not draft.lowers.operations:
        path = (*draft.path, "lowers", "operations")
        yield path, "the effect lists no operation", 'add what it lowers, such as operations = ["web_fetch"]'


def _network(draft: EffectDraft) -> Found:
    if draft.lowers is None or not draft.lowers.operations or NETWORK_OPERATIONS & set(draft.lowers.operations):
        return
    fix = f"add one of {', '.join(sorted(NETWORK_OPERATIONS))} to lowers.operations"
    for table, key in (("lowers", "hosts"), ("matches", "http")):
        if draft.written(table, key):
            yield (*draft.path, table, key), "the effect reaches hosts and lists no operation that can", fix


def _repeated_shapes(draft: EffectDraft) -> Found:
    first: dict[str, int] = {}
    matches = cast(Mapping[str, list[object]], draft.raw.get("matches"))
    for row, _ in draft.shapes:
        before = first.setdefault(json.dumps(matches["http"][row], sort_keys=True, default=str), row)
        if before != row:
            yield draft.shape_path(row), f"the same shape was already given as http[{before}]", "remove one of the two"


def _shape_keys(draft: EffectDraft) -> Found:
    for row, shape in draft.shapes:
        for key in ("method", "host", "path"):
            if key not in shape.model_fields_set and not draft.written_in_shape(row, key):
                yield (*draft.shape_path(row), key), f"the key {key} is missing", f"add the key {key}"


def _hosts(draft: EffectDraft) -> Found:
    if draft.lowers is None:
        return
    for row, shape in draft.shapes:
        host = shape.host
        if host is not None and not any(_covers(allowed, host) for allowed in draft.lowers.hosts):
            text = host if isinstance(host, str) else host.text
            yield (
                (*draft.shape_path(row), "host"),
                f"the host {text} is outside lowers.hosts",
                f'add "{text}" to lowers.hosts',
            )


def _covers(allowed: HostPattern | str, host: HostPattern | str) -> bool:
    if isinstance(allowed, str) or isinstance(host, str):
        return allowed == host
    return host.included(allowed)


def _sinks(draft: EffectDraft) -> Found:
    if draft.lowers is None or not draft.lowers.operations:
        return
    for index, sink in enumerate(draft.lowers.sinks):
        if not SINKS[sink] & set(draft.lowers.operations):
            path = (*draft.path, "lowers", "sinks", index)
            fix = f"remove it, or add one of {', '.join(sorted(SINKS[sink]))} to lowers.operations"
            yield path, f"no listed operation can produce the sink {sink}", fix


def _recognised(draft: EffectDraft) -> Found:
    keys = ("mcp_tools", "commands", "http", "files")
    if not draft.written("lowers", "hosts") and not any(draft.written("matches", key) for key in keys):
        fix = (
            "add matches.http, matches.mcp_tools, matches.commands or matches.files, or lowers.hosts to vouch for hosts"
        )
        yield (*draft.path, "matches"), "nothing recognises the effect", fix


def _methods(draft: EffectDraft) -> Found:
    risk = RISKS.get(str(draft.raw.get("risk")))
    plain = PLAIN_METHODS.get(risk) if risk is not None else None
    if risk is None or plain is None:
        return
    for row, shape in draft.shapes:
        others = [method for method in shape.method or () if method not in plain]
        if others and not draft.written_in_shape(row, "because"):
            message = f"an effect of risk {risk.word} matches {others[0]}"
            yield (*draft.shape_path(row), "method"), message, 'raise the risk, or say why with because = "…"'


def _parameters(draft: EffectDraft) -> Found:
    for row, shape in draft.shapes:
        if shape.host is None or shape.path is None:
            continue
        path, bound = draft.shape_path(row), bound_names(shape)
        for name in sorted(name for name, times in bound.items() if times > 1):
            yield path, f"the shape binds {{{name}}} twice", "give each {name} its own name"
        if not isinstance(shape.ignore_case, bool):
            yield from _unbound((*path, "ignore_case"), sorted(shape.ignore_case), bound)
        yield from _unbound((*path, "secret"), shape.secret, bound)


def _unbound(path: KeyPath, names: list[str], bound: Counter[str]) -> Found:
    for name in names:
        if name not in bound:
            yield path, f"the shape binds no parameter {name}", f"bind {{{name}}} in it, or remove the name"


def _tenants(draft: EffectDraft) -> Found:
    tenants = sorted({name for _, shape in draft.shapes for name in shape.tenant})
    for row, shape in draft.shapes if tenants else ():
        bound = bound_names(shape)
        for name in tenants if shape.host is not None and shape.path is not None else ():
            if name not in bound:
                path = (*draft.shape_path(row), "tenant") if name in shape.tenant else draft.shape_path(row)
                message = f"the tenant parameter {name} is not bound by this shape"
                yield (
                    path,
                    message,
                    f"bind {{{name}}} in every shape of the effect, or move the shape to another effect",
                )


def _tool_parameters(draft: EffectDraft) -> Found:
    if draft.matches is not None and draft.matches.tool_params and not draft.written("matches", "mcp_tools"):
        path = (*draft.path, "matches", "tool_params")
        yield path, "tool_params without mcp_tools binds nothing", "add mcp_tools, or remove tool_params"


_RULES: tuple[Callable[[EffectDraft], Found], ...] = (
    _operations,
    _network,
    _repeated_shapes,
    _shape_keys,
    _hosts,
    _sinks,
    _recognised,
    _methods,
    _parameters,
    _tenants,
    _tool_parameters,
)
