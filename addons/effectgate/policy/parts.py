"""Requests with several parts: a JSON batch, the root fields of a GraphQL document (design.md section 2, rule 5).

A request is split only where a candidate shape reads documents; each part is then recognised as a request of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from effectgate.policy.facts import Part, RequestFacts
from effectgate.policy.field import Table
from effectgate.policy.graphql_document import GRAPHQL, RootField, root_fields
from effectgate.policy.index import Entry
from effectgate.policy.json_body import Document

# Beyond this a request cannot be opened, and counts as unreadable.
MAX_PARTS = 64

_UNREADABLE: tuple[RootField | None, ...] = (None,)
# What a GraphQL request is made of, and members that name a document which only its server can open.
_MEMBERS = {"query": "query", "operationname": "operationName"}
_PERSISTED = frozenset({"documentid", "doc_id", "queryid", "id"})


def split(facts: RequestFacts, candidates: Sequence[Entry]) -> tuple[RequestFacts, ...]:
    """The parts of a request; itself alone where no candidate reads documents."""
    readers = [entry.shape for entry in candidates if entry.reads_documents]
    if not readers:
        return (facts,)
    graphql = any(shape.graphql is not None for shape in readers)
    parts = [part for call in _calls(facts) for part in (_graphql_parts(facts, call) if graphql else (call,))]
    if len(parts) > MAX_PARTS:
        parts = [Part(facts.body.present, None, graphql, None)]
    return tuple(dataclasses.replace(facts, part=part) for part in parts)


def _calls(facts: RequestFacts) -> Sequence[Part]:
    """One part for each call in the JSON body; one that is unreadable, or that says there is none."""
    if not facts.body.present or facts.document is None:
        return (Part(facts.body.present, None),)
    return [Part(True, call) for call in facts.document.batch[: MAX_PARTS + 1]]


def _graphql_parts(facts: RequestFacts, call: Part) -> Iterator[Part]:
    sent = _sent(facts, call)
    if sent is None:
        yield call
        return
    for field in sent:
        yield dataclasses.replace(call, graphql=True, field=field)


def _sent(facts: RequestFacts, call: Part) -> tuple[RootField | None, ...] | None:
    """The root fields that a call selects; None where nothing is asked: neither a body nor a document in the query."""
    if not facts.body.present:
        return _in_query(facts)
    if facts.query_table is None or facts.query_table.values("query", True):
        return _UNREADABLE
    if facts.media_type == GRAPHQL:
        return _of_text(facts.plain_body, facts.query_table)
    return _UNREADABLE if call.document is None else _of_document(call.document)


def _in_query(facts: RequestFacts) -> tuple[RootField | None, ...] | None:
    table = facts.query_table
    if table is None:
        return _UNREADABLE
    if not table.exact:
        return None
    return _read(table, _one(table, "query")) if table.values("query", True) else _UNREADABLE


def _of_text(content: bytes | None, table: Table) -> tuple[RootField | None, ...]:
    try:
        return _read(table, None if content is None else content.decode("utf-8"))
    except UnicodeDecodeError:
        return _UNREADABLE


def _read(table: Table, text: str | None) -> tuple[RootField | None, ...]:
    """The root fields of a document whose `operationName` is in the query."""
    named = table.values("operationName", True)
    name = _one(table, "operationName")
    if text is None or (named and name is None):
        return _UNREADABLE
    return root_fields(text, name) or _UNREADABLE


def _one(table: Table, name: str) -> str | None:
    """The one value of a name that every server reads alike; else None."""
    values = table.values(name, False)
    return next(iter(values)) if len(values) == 1 and values == table.values(name, True) else None


def _of_document(document: Document) -> tuple[RootField | None, ...]:
    """`query` and `operationName` of the object; a persisted document only its server can open."""
    body = document.value
    if not isinstance(body, dict) or _persisted(body):
        return _UNREADABLE
    if any(name != _MEMBERS.get(name.casefold(), name) for name in body):
        return _UNREADABLE
    text, name = body.get("query"), body.get("operationName")
    if not isinstance(text, str) or not (name is None or isinstance(name, str)):
        return _UNREADABLE
    return root_fields(text, name) or _UNREADABLE


def _persisted(body: dict[str, object]) -> bool:
    extensions = body.get("extensions")
    return any(name.casefold() in _PERSISTED for name in body) or (
        isinstance(extensions, dict) and "persistedQuery" in extensions
    )
