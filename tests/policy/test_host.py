"""Host patterns: the published vectors, what is refused at load, what is bound, and the cost of hostile hosts."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from effectgate.policy import language
from effectgate.policy.authority import EnvelopeError, parse_authority
from effectgate.policy.fault import PatternError
from effectgate.policy.host import HostPattern

VECTORS = Path(__file__).parents[1] / "data" / "packs" / "matching_vectors.jsonl"
ROWS = [row for line in VECTORS.read_text().splitlines() if (row := json.loads(line))["kind"] == "host_match"]


def matched(pattern: str, host: str) -> bool | str:
    """Our answer to a vector."""
    try:
        parsed = HostPattern.parse(pattern)
    except PatternError:
        return "pattern refused"
    try:
        return parsed.match(parse_authority(host, 443).host) is not None
    except EnvelopeError:
        return "request refused"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['pattern']} {row['host']}")
def test_published_vectors(row: dict[str, object]) -> None:
    assert matched(str(row["pattern"]), str(row["host"])) == row.get("ours", row["expect"])
    assert row.get("why") or not row.get("hole")


@pytest.mark.parametrize(
    ("pattern", "host", "bound"),
    [
        ("api.test", "api.test", {}),
        ("API.Test", "api.test", {}),
        ("{b}.s3.test", "photos.s3.test", {"b": "photos"}),
        ("{b}.s3.test", "a.photos.s3.test", None),
        ("{b}.s3.test", "s3.test", None),
        ("{b}.*.s3.test", "a.x.y.s3.test", {"b": "a"}),
        ("*.{b}.s3.test", "x.y.a.s3.test", {"b": "a"}),
        ("*.api.test", "evilapi.test", None),
        ("*.api.test", "api.test.evil.test", None),
        ("192.0.2.7", "192.0.2.7", {}),
        ("192.0.2.7", "192.0.2.70", None),
        ("2001:db8::1", "2001:db8::1", {}),
        ("2001:DB8::1", "2001:db8::1", {}),
        ("localhost", "localhost", {}),
    ],
)
def test_what_it_binds(pattern: str, host: str, bound: dict[str, str] | None) -> None:
    assert HostPattern.parse(pattern).match(host) == bound


@pytest.mark.parametrize(
    ("pattern", "fix"),
    [
        ("*foo.test", "whole labels"),
        ("foo*.api.test", "whole labels"),
        ("{a}x.api.test", "whole labels"),
        ("*", "own domain"),
        ("{x}", "own domain"),
        ("*.com", "below"),
        ("*.co.uk", "below"),
        ("{x}.co.uk", "below"),
        ("api.*.com", "below"),
        ("api.*", "literal domain"),
        ("api.{x}", "literal domain"),
        ("api.test:443", "ports"),
        ("https://api.test", "scheme"),
        ("api.test/x", "one host"),
        ("10.0.0.0/8", "networks"),
        ("a..test", "dots"),
        ("api.test.", "dots"),
        (".test", "dots"),
        ("", "dots"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("-a.test", "labels"),
        ("a_b.test", "labels"),
        ("[::1]", "brackets"),
        ("2001:db8:0::1", "2001:db8::1"),
        ("127.1", "canonical"),
        ("0x7f000001", "canonical"),
        ("10.*", "literal domain"),
        ("{a}.{a}.test.example", "its own name"),
        ("a" * 64 + ".test", "63"),
        (".".join(["a" * 60] * 5), "253"),
    ],
)
def test_refused_at_load_with_the_fix(pattern: str, fix: str) -> None:
    with pytest.raises(PatternError) as refused:
        HostPattern.parse(pattern)
    assert fix in f"{refused.value.fix} {refused.value.message}"


@pytest.mark.parametrize("pattern", ["*.github.io", "{user}.github.io", "*.s3.amazonaws.com"])
def test_private_suffixes_are_hazards_not_faults(pattern: str) -> None:
    assert HostPattern.parse(pattern).private_suffix()


@pytest.mark.parametrize(
    ("more", "less"),
    [("a.api.test", "{x}.api.test"), ("{x}.api.test", "*.api.test"), ("*.a.api.test", "*.api.test")],
)
def test_specificity_from_the_right(more: str, less: str) -> None:
    assert HostPattern.parse(more).rank() < HostPattern.parse(less).rank()


def test_many_stars_on_a_hostile_host_cost_little() -> None:
    pattern = HostPattern.parse("*.a." * 12 + "{x}.b.test")
    begin = time.perf_counter()
    assert pattern.match(".".join(["a"] * 120)) is None
    assert time.perf_counter() - begin < 0.5


OPEN_AND_LITERAL = [
    "a.example.com",
    "{x}.example.com",
    "a.{y}.com",
    "{x}.{y}.com",
    "a.b.example.com",
    "{x}.b.example.com",
    "*.example.com",
]


@pytest.mark.parametrize("part", OPEN_AND_LITERAL)
@pytest.mark.parametrize("whole", OPEN_AND_LITERAL)
def test_inclusion_label_by_label_is_inclusion_of_the_languages(part: str, whole: str) -> None:
    one, other = _unchecked(part), _unchecked(whole)
    assert one.included(other) is language.included(one.program(), (other.program(),))


def _unchecked(text: str) -> HostPattern:
    """A pattern that may be wider than a pack may write."""
    labels = tuple(text.split("."))
    names = tuple(label.strip("{}") if label.startswith("{") else "" for label in labels)
    return HostPattern(text, labels, names, frozenset(name for name in names if name))
