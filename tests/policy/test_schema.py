"""Tables to values or faults: what pydantic finds, in words, at the key that the file really has."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BeforeValidator, Field

from effectgate.policy.document import Document, KeyPath
from effectgate.policy.schema import Table, keys_at, listed, near, read_table


class Inner(Table):
    """A table in a table."""

    size: int = 0


class Outer(Table):
    """A table with every kind of key that files have."""

    name: str
    names: Annotated[list[str], BeforeValidator(listed)] = Field(default_factory=list)
    rows: list[Inner] = Field(default_factory=list)
    inner: Inner | None = None
    words: dict[str, int] = Field(default_factory=dict)
    on: bool = False
    alias_: int = Field(default=0, alias="alias")


def read(table: object, path: KeyPath = ()) -> tuple[Outer | None, list[tuple[str, str, str]]]:
    document = Document("f", table, lambda path: len(path))
    value, faults = read_table(Outer, document, table, path)
    return value, [(fault.key, fault.message, fault.fix) for fault in faults]


BAD = [
    ({}, "name", "the key name is missing", "add the key name"),
    ({"name": 1}, "name", "1 is not text", "put it in quotes"),
    ({"name": "x", "nmae": 1}, "nmae", "unknown key nmae", "write name"),
    (
        {"name": "x", "zzz": 1},
        "zzz",
        "unknown key zzz",
        "remove it; the keys here are name, names, rows, inner, words, on, alias",
    ),
    ({"name": "x", "names": 1}, "names", "1 is not text", "put it in quotes"),
    ({"name": "x", "names": ["a", 2]}, "names[1]", "2 is not text", "put it in quotes"),
    ({"name": "x", "rows": [{}, {"siez": 1}]}, "rows[1].siez", "unknown key siez", "write size"),
    ({"name": "x", "rows": {}}, "rows", "{} is not a list", "put it in brackets"),
    ({"name": "x", "rows": [1]}, "rows[0]", "1 is not a table", "write it as `key = value` pairs"),
    ({"name": "x", "inner": {"size": "1"}}, "inner.size", "'1' is not a whole number", "write digits, without quotes"),
    (
        {"name": "x", "inner": {"size": True}},
        "inner.size",
        "True is not a whole number",
        "write digits, without quotes",
    ),
    ({"name": "x", "words": {"a b": "c"}}, 'words."a b"', "'c' is not a whole number", "write digits, without quotes"),
    ({"name": "x", "on": "yes"}, "on", "'yes' is not true or false", "write true or false, without quotes"),
    ({"name": "x", "alias": "1"}, "alias", "'1' is not a whole number", "write digits, without quotes"),
    (
        {"name": "x", "on": "y" * 90},
        "on",
        "'" + "y" * 56 + "… is not true or false",
        "write true or false, without quotes",
    ),
    ("text", "", "'text' is not a table", "write it as `key = value` pairs"),
]


@pytest.mark.parametrize(("table", "key", "message", "fix"), BAD, ids=[f"{row[1]}-{row[2][:20]}" for row in BAD])
def test_faults(table: object, key: str, message: str, fix: str) -> None:
    assert read(table)[1] == [(key, message, fix)]


def test_the_path_of_the_table_comes_first() -> None:
    assert read({"name": 1}, ("effect", 2))[1][0][0] == "effect[2].name"


def test_keys_at_fault_are_left_out_of_the_value() -> None:
    value, faults = read({"name": "x", "zzz": 1, "on": 2, "names": "a"})
    assert len(faults) == 2
    assert value is not None
    assert (value.name, value.names, value.on) == ("x", ["a"], False)


def test_without_a_key_that_must_be_there_is_no_value() -> None:
    assert read({"name": 1, "on": True})[0] is None


KEYS = [((), 7), (("rows", 0), 1), (("inner",), 1), (("words",), 0), (("alias",), 0)]


@pytest.mark.parametrize(("path", "count"), KEYS)
def test_the_keys_of_a_place(path: KeyPath, count: int) -> None:
    assert len(keys_at(Outer, path)) == count


def test_near() -> None:
    assert near("titel", ["title", "risk"]) == "title"
    assert near("colour", ["title", "risk"]) == ""
