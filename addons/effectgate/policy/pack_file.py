"""What a pack file may contain, key by key (design.md 2, Packs); `pack_rules` checks what holds between keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from effectgate.policy.schema import Table, listed
from effectgate.policy.vocabulary import Level
from effectgate.policy.words import (
    Command,
    FieldName,
    Fold,
    GraphQLFields,
    Headers,
    Host,
    LevelWord,
    Methods,
    Name,
    Operation,
    Path,
    Pointer,
    Ports,
    RiskWord,
    Sink,
    Size,
    Title,
    Tool,
    Values,
)

Names = Annotated[list[str], BeforeValidator(listed)]


class PackTable(Table):
    """The file: its head, and effects and examples as they stand; each of those is read by itself."""

    plugin: PluginTable
    effect: list[Any] = Field(default_factory=list)
    example: list[Any] = Field(default_factory=list)


class PluginTable(Table):
    """`[plugin]`."""

    name: Name
    version: Annotated[int, Field(ge=1)]


class EffectTable(Table):
    """`[[effect]]`, without its inner tables."""

    id: Name
    title: Title
    risk: RiskWord
    level: LevelWord = Level.LOW_RISK
    reserved: bool = False
    lowers: Any = None
    matches: Any = None


class LowersTable(Table):
    """`[effect.lowers]`."""

    operations: list[Operation] = Field(default_factory=list)
    sinks: list[Sink] = Field(default_factory=list)
    hosts: list[Host] = Field(default_factory=list)


class MatchesTable(Table):
    """`[effect.matches]`; its `http` and `files` are read one by one."""

    mcp_tools: list[Tool] = Field(default_factory=list)
    tool_params: dict[str, str] = Field(default_factory=dict)
    commands: list[Command] = Field(default_factory=list)
    http: list[Any] = Field(default_factory=list)
    files: list[Any] = Field(default_factory=list)


class GraphQLTable(Table):
    """The `graphql` discriminator of a shape."""

    operation: Literal["query", "mutation", "subscription"]
    fields: GraphQLFields = Field(default_factory=list)


class ShapeTable(Table):
    """One entry of `matches.http`. `method`, `host` and `path` must be written; None stands for one that cannot be read."""

    method: Methods | None = None
    host: Host | None = None
    path: Path | None = None
    scheme: Literal["https", "http"] = "https"
    ports: Ports | None = None
    query: dict[str, Values] = Field(default_factory=dict)
    headers: Headers = Field(default_factory=dict)
    form: dict[str, Values] = Field(default_factory=dict)
    json_: dict[Pointer, Values] = Field(default_factory=dict, alias="json")
    graphql: GraphQLTable | None = None
    query_only: list[str] | None = None
    absent: list[FieldName] = Field(default_factory=list)
    body: bool = False
    inspect: Size | None = None
    websocket: bool = False
    encoded_slash: bool = False
    ignore_case: Fold = False
    secret: list[str] = Field(default_factory=list)
    tenant: list[str] = Field(default_factory=list)
    because: str = ""


class FileTable(Table):
    """One entry of `matches.files`."""

    op: Literal["read", "write", "delete"]
    path: Path


class ExampleTable(Table):
    """`[[example]]`: a row of the pack's admits/denies table."""

    grant: Names
    request: str
    expect: Literal["allow", "deny"]
    effect: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None
    data: str | None = None
