"""GraphQL APIs held against the root fields that their vendors publish: queries are reads, and no mutation passes as one."""

from __future__ import annotations

import csv
import functools
import json
from dataclasses import dataclass

import pytest

from catalog.shipped import DATA, Ask, effects, first_named, plain_reads

JSON = {"Content-Type": "application/json"}
# The effects that say what cannot be read, or is not known yet, and are no name for a field.
CATCH_ALL = {"github/graphql"}


@dataclass(frozen=True, slots=True)
class RootField:
    """One row of the vendors' root fields, and the question that selects it alone."""

    pack: str
    operation: str
    name: str
    ask: Ask


@functools.cache
def fields(operation: str) -> tuple[RootField, ...]:
    with (DATA / "operations" / "graphql.tsv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["operation"] == operation]
    return tuple(RootField(row["pack"], operation, row["field"], _select(row)) for row in rows)


def _select(row: dict[str, str]) -> Ask:
    return _document(row["url"], f"{row['operation']} {{ x: {row['field']} {{ __typename }} }}")


def _document(url: str, document: str, **members: str) -> Ask:
    return Ask(f"POST {url}", JSON, json.dumps({"query": document, **members}))


@pytest.fixture(scope="module")
def reads() -> list[str]:
    return plain_reads()


def test_no_mutation_passes_as_a_read(reads: list[str]) -> None:
    assert [field.name for field in fields("mutation") if not field.ask.refused(reads)] == []


def test_no_mutation_passes_beside_a_query_or_under_another_name(reads: list[str]) -> None:
    for url, query, mutation in [
        ("https://api.github.com/graphql", "viewer", "mergePullRequest"),
        ("https://api.linear.app/graphql", "viewer", "issueDelete"),
    ]:
        both = f"query A {{ {query} {{ id }} }} mutation B {{ {query}: {mutation} {{ id }} }}"
        assert _document(url, both, operationName="B").refused(reads)
        assert _document(url, both).refused(reads)
        assert not _document(url, both, operationName="A").refused(reads)
        assert _document(url, f"mutation {{ ...F }} fragment F on Mutation {{ {mutation} {{ id }} }}").refused(reads)
        assert _document(url, f"{{ {query} {{ id }} }}", operationName="B").refused(reads)
        assert Ask(f"POST {url}", JSON, '{"extensions": {"persistedQuery": {"sha256Hash": "0"}}}').refused(reads)


def test_every_root_field_is_named_by_an_effect_of_its_pack() -> None:
    rows = [*fields("query"), *fields("mutation")]
    named = [(field, first_named(field.ask.under(["fs/read-workspace"])) or "") for field in rows]
    assert [field.name for field, effect in named if not effect.startswith(f"{field.pack}/")] == []
    assert [field.name for field, effect in named if effect in CATCH_ALL] == []


def test_plain_reads_admit_nearly_every_query(reads: list[str]) -> None:
    queries = fields("query")
    assert sum(field.ask.under(reads).allowed for field in queries) >= 0.8 * len(queries)


def test_what_deletes_is_destructive_and_reserved() -> None:
    known = {effect.id: effect for effect in effects()}
    for field in fields("mutation"):
        if field.name.startswith("delete") or field.name.endswith("Delete"):
            named = known[first_named(field.ask.under(["fs/read-workspace"])) or ""]
            assert named.reserved or field.name in {"deleteLinkedBranch"}, f"{field.name}: {named.id}"
