"""From the text of a pack file to effects (design.md section 2, Packs). A pack with any fault has no value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from effectgate.policy.document import Document, KeyPath
from effectgate.policy.effect import NO_PATTERNS, Effect, FileShape, GraphQL, Patterns, Shape
from effectgate.policy.example import Example
from effectgate.policy.facts import INSPECT_DEFAULT
from effectgate.policy.fault import Fault
from effectgate.policy.host import HostPattern
from effectgate.policy.pack_draft import EffectDraft, PackDraft, RawTable, read_draft
from effectgate.policy.pack_file import ExampleTable, LowersTable, MatchesTable, ShapeTable
from effectgate.policy.pack_rules import bound_names, count_faults, effect_faults
from effectgate.policy.path import PathPattern
from effectgate.policy.site import Sites
from effectgate.policy.value import ValuePattern

_SCHEME_PORTS = {"https": frozenset({443}), "http": frozenset({80})}


@dataclass(frozen=True, slots=True, eq=False)
class Pack:
    """One pack. `rows[i][k]` is the row of `matches.http` that shape k of effect i came from (a site makes several)."""

    name: str
    version: int
    document: Document
    effects: tuple[Effect, ...]
    rows: tuple[tuple[int, ...], ...]
    examples: tuple[Example, ...]

    @property
    def sites(self) -> frozenset[str]:
        """The sites that its effects speak of."""
        hosts = (host for effect in self.effects for host in effect.hosts)
        return frozenset(host[1:] for host in hosts if host.startswith("@"))

    def effect_path(self, effect: Effect) -> KeyPath:
        """Where in the file the effect stands."""
        return ("effect", self.effects.index(effect))

    def shape_path(self, effect: Effect, shape: Shape) -> KeyPath:
        """Where in the file one of its shapes stands; a vouch stands in `lowers.hosts`."""
        index = self.effects.index(effect)
        if shape.vouch:
            return ("effect", index, "lowers", "hosts")
        return ("effect", index, "matches", "http", self.rows[index][effect.shapes.index(shape)])


def read_pack(document: Document, name: str, sites: Sites) -> tuple[Pack | None, list[Fault]]:
    """The pack that the file `name`.toml holds, or every fault in it that needs no other pack to be seen."""
    if too_many := list(count_faults(document)):
        return None, too_many
    draft, faults = read_draft(document)
    faults += _head_faults(document, draft, name)
    for effect in draft.effects:
        faults += effect_faults(document, effect)
    if faults or draft.head is None:
        return None, faults
    built = [_effect(name, effect, sites) for effect in draft.effects]
    examples = tuple(_example(row, table) for row, table in draft.examples)
    effects, rows = tuple(effect for effect, _ in built), tuple(row for _, row in built)
    return Pack(name, draft.head.plugin.version, document, effects, rows, examples), []


def at_example_sites(pack: Pack) -> Pack:
    """The pack with each site at NAME.example, where its examples ask for it, whatever the operator's own site may be."""
    if not pack.sites:
        return pack
    moved, _ = read_pack(pack.document, pack.name, Sites.parse({name: [f"{name}.example"] for name in pack.sites}))
    return moved or pack


def _head_faults(document: Document, draft: PackDraft, name: str) -> Iterator[Fault]:
    if draft.head is not None and draft.head.plugin.name != name:
        message = f"the pack {draft.head.plugin.name} lies in the file {name}.toml"
        yield document.fault(("plugin", "name"), message, f"name the file {draft.head.plugin.name}.toml")
    first: dict[str, KeyPath] = {}
    for effect in draft.effects:
        local = effect.raw.get("id")
        if isinstance(local, str) and (before := first.setdefault(local, effect.path)) != effect.path:
            message = f"the id {local} was already given on line {document.line_of(before)}"
            yield document.fault((*effect.path, "id"), message, "choose another id")


def _effect(pack: str, draft: EffectDraft, sites: Sites) -> tuple[Effect, tuple[int, ...]]:
    table = _read(draft.table)
    lowers, matches = _read(draft.lowers), _read(draft.matches)
    shapes = [(row, shape) for row, written in draft.shapes for shape in _shapes(written, sites)]
    effect = Effect(
        id=f"{pack}/{table.id}",
        title=table.title,
        risk=table.risk,
        operations=tuple(dict.fromkeys(lowers.operations)),
        level=table.level,
        reserved=table.reserved,
        sinks=tuple(dict.fromkeys(lowers.sinks)),
        hosts=_hosts(lowers, sites, vouches=not draft.shapes, reachable=bool(shapes)),
        shapes=tuple(shape for _, shape in shapes),
        files=tuple(FileShape(file.op, file.path) for _, file in draft.files),
        tools=tuple(matches.mcp_tools),
        tool_params=dict(matches.tool_params),
        commands=tuple(matches.commands),
        parameters=_parameters(draft, matches),
        tenant=frozenset(name for _, shape in draft.shapes for name in shape.tenant),
        digest=table_digest(pack, draft.raw),
    )
    return effect, tuple(row for row, _ in shapes)


def _read[T](part: T | None) -> T:
    if part is None:
        raise ValueError("an effect is built only from a file without faults")
    return part


def table_digest(pack: str, raw: RawTable) -> str:
    """``sha256:`` over the pack's name and the effect's table as JSON with sorted keys.

    For text, whole numbers and booleans that is RFC 8785 (but for keys outside the BMP), at the speed of C.
    """
    text = json.dumps([pack, raw], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _hosts(lowers: LowersTable, sites: Sites, *, vouches: bool, reachable: bool) -> tuple[str, ...]:
    """The hosts as written. A vouch gets those of its sites that answer on 443, the only port it covers.

    An effect whose shapes all stand for unset sites keeps only those sites: without shapes it must not become a vouch.
    """
    out: list[str] = []
    for host in lowers.hosts:
        if isinstance(host, str):
            out.append(host)
            out += [name for name, ports in sites.hosts(host).items() if vouches and 443 in ports]
        elif vouches or reachable:
            out.append(host.text)
    return tuple(dict.fromkeys(out))


def _parameters(draft: EffectDraft, matches: MatchesTable) -> frozenset[str] | None:
    shared = [frozenset(bound_names(shape)) for _, shape in draft.shapes]
    shared += [file.path.parameters for _, file in draft.files]
    if shared:
        return frozenset.intersection(*shared)
    if draft.written("lowers", "hosts"):
        return frozenset()
    return frozenset(matches.tool_params) if matches.tool_params else None


def _shapes(table: ShapeTable, sites: Sites) -> Iterator[Shape]:
    if isinstance(table.host, HostPattern):
        ports = frozenset(table.ports) if table.ports else _SCHEME_PORTS[table.scheme]
        yield _shape(table, table.host, ports, table.ports is not None, "")
        return
    site = _read(table.host)
    for host, site_ports in sites.hosts(site).items():
        yield _shape(table, HostPattern.parse(host), site_ports, True, site[1:])


def _shape(table: ShapeTable, host: HostPattern, ports: frozenset[int], explicit: bool, site: str) -> Shape:
    fold, path = table.ignore_case is True, _read(table.path)
    return Shape(
        methods=frozenset(_read(table.method)),
        host=host,
        path=PathPattern.parse(path.text, True) if fold else path,
        scheme=table.scheme,
        ports=ports,
        ports_explicit=explicit,
        query=_patterns(table.query),
        headers=_patterns(table.headers),
        form=_patterns(table.form),
        json=_patterns(table.json_),
        graphql=GraphQL(table.graphql.operation, tuple(table.graphql.fields)) if table.graphql else None,
        query_only=None if table.query_only is None else frozenset((*table.query_only, *table.query)),
        absent=frozenset(table.absent),
        body=table.body,
        inspect=INSPECT_DEFAULT if table.inspect is None else table.inspect,
        websocket=table.websocket,
        encoded_slash=table.encoded_slash,
        ignore_case=table.ignore_case if isinstance(table.ignore_case, frozenset) else frozenset(),
        fold=fold,
        secret=frozenset(table.secret),
        tenant=frozenset(table.tenant),
        because=table.because,
        site=site,
    )


def _patterns(table: dict[str, list[ValuePattern]]) -> Patterns:
    return {name: tuple(values) for name, values in table.items()} if table else NO_PATTERNS


def _example(row: int, table: ExampleTable) -> Example:
    text = table.data if table.body is None else table.body
    return Example(
        grant=tuple(table.grant),
        request=table.request,
        allow=table.expect == "allow",
        effect=table.effect,
        headers=tuple(table.headers.items()),
        body=None if text is None else text.encode(),
        path=("example", row),
    )
