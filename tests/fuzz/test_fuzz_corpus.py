"""The committed corpus through the fuzzers' properties, without atheris."""

from __future__ import annotations

import pytest

from fuzz import corpus, naive, realm
from fuzz.facts import read
from fuzz.properties import PROPERTIES
from fuzz.raw import Raw
from policy.build import ask

INPUTS = corpus.load("facts")


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_input_of_the_corpus_keeps_the_laws(name: str) -> None:
    for data in corpus.load(name):
        PROPERTIES[name](data)


def test_the_corpus_has_requests_of_every_kind() -> None:
    read_ = [facts for data in INPUTS if (facts := read(Raw.parse(data))) is not None]
    allowed = {ask(realm.CATALOG, realm.GRANT, facts).effect for facts in read_}
    assert len(INPUTS) // 4 < len(read_) < len(INPUTS)
    assert allowed == {*realm.HELD, "r/own", None}


def test_the_second_opinion_finds_every_kind_of_fault() -> None:
    faults = {naive.fault(Raw.parse(data)) for data in INPUTS}
    assert len(faults) >= 20, sorted(faults)


@pytest.mark.parametrize("data", [b"", b"\n\n\n\n\n", b"GET", Raw(b"G\n", "h", b"", b"", ((b"", b""),), b"x\n").text])
def test_any_bytes_are_a_request_and_its_text_is_read_back(data: bytes) -> None:
    raw = Raw.parse(data)
    assert Raw.parse(raw.text) == raw
