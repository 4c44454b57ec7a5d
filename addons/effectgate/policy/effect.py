"""Effects and shapes as frozen values: what the pack loader makes and the catalog indexes (design.md section 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from effectgate.policy.facts import INSPECT_DEFAULT
from effectgate.policy.host import HostPattern
from effectgate.policy.path import PathPattern
from effectgate.policy.value import ValuePattern
from effectgate.policy.vocabulary import Level, Risk

Patterns = Mapping[str, tuple[ValuePattern, ...]]
NO_PATTERNS: Patterns = {}


@dataclass(frozen=True, slots=True, eq=False)
class GraphQL:
    """The `graphql` discriminator: one kind of operation, and patterns of the root fields it may select (none: any)."""

    operation: str
    fields: tuple[ValuePattern, ...] = ()

    def names(self, operation: str, name: str, fold: bool) -> bool:
        """Whether it matches this root field; `fold` for a server that knows no letter case."""
        return operation == self.operation and (
            not self.fields or any(pattern.match(name, fold) is not None for pattern in self.fields)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One entry of `matches.http`. Compared by identity: two equal spellings are two shapes.

    Header names are lower-case; `ports` is never empty; `methods` empty means any method (only a vouch has that).
    """

    methods: frozenset[str]
    host: HostPattern
    path: PathPattern
    scheme: str = "https"
    ports: frozenset[int] = frozenset({443})
    ports_explicit: bool = False
    query: Patterns = field(default_factory=dict)
    headers: Patterns = field(default_factory=dict)
    form: Patterns = field(default_factory=dict)
    json: Patterns = field(default_factory=dict)
    graphql: GraphQL | None = None
    query_only: frozenset[str] | None = None
    absent: frozenset[str] = frozenset()
    body: bool = False
    inspect: int = INSPECT_DEFAULT
    websocket: bool = False
    encoded_slash: bool = False
    ignore_case: frozenset[str] = frozenset()
    fold: bool = False  # ignore_case = true
    secret: frozenset[str] = frozenset()
    tenant: frozenset[str] = frozenset()
    because: str = ""
    vouch: bool = False  # made from lowers.hosts of an effect without shapes, never written in a pack
    site: str = ""  # the `@site` that this host came from


def shape_parameters(shape: Shape) -> frozenset[str]:
    """The parameters that every match of this shape binds: of path, host, and each discriminator all of whose patterns bind it."""
    carriers = (shape.query, shape.headers, shape.form, shape.json)
    always = [
        frozenset.intersection(*(pattern.parameters for pattern in wanted))
        for patterns in carriers
        for wanted in patterns.values()
    ]
    return shape.path.parameters | shape.host.parameters | frozenset().union(*always)


@dataclass(frozen=True, slots=True, eq=False)
class FileShape:
    """One entry of `matches.files`: a submitted file operation (`read`, `write` or `delete`) on a path."""

    op: str
    path: PathPattern


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """A unit of authority. `digest` is `sha256:` over the canonical form of its table, so that a grant can be sealed to it."""

    id: str  # pack/effect
    title: str
    risk: Risk
    operations: tuple[str, ...]
    level: Level = Level.LOW_RISK
    reserved: bool = False
    sinks: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()  # lowers.hosts as written (`@site` included)
    shapes: Sequence[Shape] = ()  # sites resolved; empty with `hosts` set means the effect vouches
    files: tuple[FileShape, ...] = ()
    tools: tuple[str, ...] = ()
    tool_params: Mapping[str, str] = field(default_factory=dict)  # parameter -> argument of the tool
    commands: tuple[str, ...] = ()
    parameters: frozenset[str] | None = None  # what a `where` may name: bound by every shape as written; None: any name
    tenant: frozenset[str] = frozenset()  # what every grant entry must scope
    digest: str = ""
    reach: tuple[HostPattern, ...] = field(init=False)  # the hosts of its shapes, each once
    ports: frozenset[int] = field(init=False)  # the ports of its shapes

    def __post_init__(self) -> None:
        object.__setattr__(self, "reach", tuple(dict.fromkeys(shape.host for shape in self.shapes)))
        object.__setattr__(self, "ports", frozenset(port for shape in self.shapes for port in shape.ports))

    @property
    def pack(self) -> str:
        """The pack's name, which is the id up to the slash."""
        return self.id.partition("/")[0]
