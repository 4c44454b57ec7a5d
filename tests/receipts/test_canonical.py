"""Canonical JSON: the 13 published vectors, and rfc8785 as the judge of everything that both accept."""

from __future__ import annotations

import hashlib
import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from scene import DATA

from effectgate.receipts.canonical import MAX_DEPTH, MAX_SAFE_INTEGER, CanonicalError, canonical, parse

VECTORS = json.loads((DATA / "canonical-json-v1" / "vectors.json").read_text())["vectors"]

integers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | integers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def test_the_vectors_are_all_there() -> None:
    assert len(VECTORS) == 13


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["interoperable"]], ids=lambda v: v["id"])
def test_vector(vector: dict[str, str]) -> None:
    encoded = canonical(parse(vector["input"].encode()))
    assert encoded == vector["canonical"].encode()
    assert hashlib.sha256(encoded).hexdigest() == vector["sha256"]


@pytest.mark.parametrize("vector", [v for v in VECTORS if not v["interoperable"]], ids=lambda v: v["id"])
def test_vector_outside_the_interoperable_subset_is_refused(vector: dict[str, str]) -> None:
    with pytest.raises(CanonicalError) as fault:
        parse(vector["input"].encode())
    assert fault.value.kind == "number"


@given(values)
def test_rfc8785_agrees(value: object) -> None:
    assert canonical(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@given(values)
def test_what_is_written_is_read_back(value: object) -> None:
    assert parse(canonical(value)) == value


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1.0, "number"),
        (float("nan"), "number"),
        (2**53, "number"),
        (-(2**53), "number"),
        ({"a": [{"b": 0.5}]}, "number"),
        (["\N{LATIN SMALL LETTER E WITH ACUTE}", {"é": 1}, 1.5], "number"),
        ({1: "a"}, "key"),
        ({"a": b"bytes"}, "type"),
        ({"a": {1}}, "type"),
        ("\ud800", "text"),
        ({"\udfff": 1}, "text"),
    ],
)
def test_no_canonical_form(value: object, kind: str) -> None:
    with pytest.raises(CanonicalError) as fault:
        canonical(value)
    assert fault.value.kind == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b'{"a":1,"a":1}', "key"),
        (b'{"a":{"b":1,"b":2}}', "key"),
        (b'"\xff"', "text"),
        (b"NaN", "number"),
        (b"-Infinity", "number"),
        (b"1" * 5000, "number"),
        (b"1.0", "number"),
        (b"{", "syntax"),
        (b"[" * 100_000, "depth"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "depth"),
    ],
    ids=str,
)
def test_not_read(text: bytes, kind: str) -> None:
    with pytest.raises(CanonicalError) as fault:
        parse(text)
    assert fault.value.kind == kind
