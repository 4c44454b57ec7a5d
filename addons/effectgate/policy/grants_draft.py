"""`grants.yaml` taken apart agent by agent and entry by entry, so that a fault in one hides none of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from effectgate.policy.document import Document, KeyPath
from effectgate.policy.fault import Fault, FaultsError
from effectgate.policy.grants_file import DEFAULT_CEILING, AgentTable, EntryTable, GrantsTable
from effectgate.policy.schema import read_table

# How many entries one agent may have: far more than any catalogue has effects, and few enough to load at once.
MAX_ENTRIES = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class EntryDraft:
    """One entry as written; `scoped` are the names in its `where`, readable or not."""

    path: KeyPath
    entry: EntryTable
    scoped: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class AgentDraft:
    """One agent as written, and where."""

    path: KeyPath
    table: AgentTable | None  # None: at fault
    ceiling: str
    entries: tuple[EntryDraft, ...]
    whole: bool  # every entry could be read


def read_agents(document: Document) -> tuple[list[AgentDraft], list[Fault]]:
    """Every agent of the file, and every fault that shows without a catalogue."""
    _, faults = read_table(GrantsTable, document, document.value)
    agents: list[AgentDraft] = []
    for index, row in enumerate(_list(document.value, "agents")):
        path: KeyPath = ("agents", index)
        table, found = read_table(AgentTable, document, row, path)
        rows = _list(row, "effects")
        entries = _entries(document, (*path, "effects"), rows, found)
        faults += found
        agents.append(AgentDraft(path, table, _ceiling_name(row), entries, len(rows) == len(entries)))
    faults += _repeated(document, agents)
    return agents, faults


def _ceiling_name(row: object) -> str:
    name = row.get("ceiling", DEFAULT_CEILING) if isinstance(row, dict) else DEFAULT_CEILING
    return name if isinstance(name, str) else DEFAULT_CEILING


def _list(table: object, key: str) -> list[object]:
    found = cast(Mapping[str, object], table).get(key) if isinstance(table, dict) else None
    return found if isinstance(found, list) else []


def _entries(document: Document, path: KeyPath, rows: list[object], faults: list[Fault]) -> tuple[EntryDraft, ...]:
    out: list[EntryDraft] = []
    first: dict[str, KeyPath] = {}
    if len(rows) > MAX_ENTRIES:
        message = f"{len(rows)} entries are more than the limit of {MAX_ENTRIES} for one agent"
        faults.append(document.fault(path, message, "share them out among several agents"))
        return ()
    for index, row in enumerate(rows):
        entry, found = read_table(EntryTable, document, row, (*path, index))
        faults += found
        if entry is not None:
            same = first.setdefault(_spelt(entry), (*path, index))
            if same != (*path, index):
                message = f"the same entry was already given on line {document.line_of(same)}"
                faults.append(document.fault((*path, index), message, "remove one of the two"))
            where = row.get("where") if isinstance(row, dict) else None
            out.append(EntryDraft((*path, index), entry, frozenset(where if isinstance(where, dict) else ())))
    return tuple(out)


def _spelt(entry: EntryTable) -> str:
    """The same text for the same entry."""
    return repr((entry.effect, sorted(entry.where.items(), key=lambda item: item[0]), entry.credential, entry.sealed))


def _repeated(document: Document, agents: list[AgentDraft]) -> Iterator[Fault]:
    names: dict[str, KeyPath] = {}
    tokens: dict[str, KeyPath] = {}
    for agent in agents:
        if agent.table is None:
            continue
        name, token = agent.table.name, agent.table.token
        if names.setdefault(name, agent.path) != agent.path:
            message = f"the agent {name} was already given on line {document.line_of(names[name])}"
            yield document.fault((*agent.path, "name"), message, "join the two, or choose another name")
        if token and tokens.setdefault(token, agent.path) != agent.path:
            message = f"the token is also that of the agent on line {document.line_of(tokens[token])}"
            yield document.fault((*agent.path, "token"), message, "make one with `effectgate token new NAME`")


def token_hashes(document: Document) -> Mapping[str, str]:
    """Agent -> hex SHA-256 of its token, for those that have one in the file. Raises FaultsError as `grants_of` does."""
    agents, faults = read_agents(document)
    if faults:
        raise FaultsError(faults)
    tables = [agent.table for agent in agents if agent.table is not None]
    return {table.name: table.token.removeprefix("sha256:") for table in tables if table.token}
