"""Directories of packs and ceilings: read in order, checked whole, all or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from effectgate.packs_io import load, load_directories, read_sources
from effectgate.policy.fault import Fault, FaultsError

PACK = """[plugin]
name = "{name}"
version = 1
[[effect]]
id = "one"
title = "One"
risk = "read"
[effect.lowers]
operations = ["web_fetch"]
hosts = ["{name}.example.com"]
[effect.matches]
http = [{{ method = "GET", host = "{name}.example.com", path = "/x" }}]
"""
CEILING = 'title = "Read"\nmax_risk = "read"\n[operations]\nweb_fetch = "low_risk"\n'


def write(directory: Path, **files: str) -> Path:
    """Files by name; `__` stands for a directory."""
    for name, text in files.items():
        path = directory / (name.replace("__", "/") + ".toml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def packs(directory: Path, *names: str) -> Path:
    return write(directory, **{name: PACK.format(name=name) for name in names})


def faults(*directories: Path) -> tuple[Fault, ...]:
    with pytest.raises(FaultsError) as caught:
        load_directories(directories)
    return caught.value.faults


def test_directories_are_read_in_order_and_not_recursively(tmp_path: Path) -> None:
    first, second = packs(tmp_path / "1", "b", "a"), packs(tmp_path / "2", "c")
    write(first / "inner", d=PACK.format(name="d"))
    (first / ".hidden.toml").write_text("not TOML")
    (first / "notes.txt").write_text("not TOML")
    (first / "tool.toml.bak").write_text("not TOML")
    library = load_directories([second, first, second])
    assert [pack.name for pack in library.packs] == ["c", "a", "b"]
    assert [*library.catalog.effects] == ["c/one", "a/one", "b/one"]


def test_the_order_of_directories_does_not_change_the_digest(tmp_path: Path) -> None:
    first, second = packs(tmp_path / "1", "a"), packs(tmp_path / "2", "b")
    one, two = load_directories([first, second]), load_directories([second, first])
    assert one.catalog.digest == two.catalog.digest


def test_ceilings_lie_beside_the_packs(tmp_path: Path) -> None:
    library = load_directories([write(packs(tmp_path, "a", "b"), ceilings__low=CEILING)])
    ceiling = library.ceilings["low"]
    assert (ceiling.name, ceiling.title, ceiling.packs) == ("low", "Read", {"a", "b"})
    assert ceiling.admits(library.catalog.effects["a/one"]) == ""


def test_packs_of_an_untrusted_directory_are_above_every_ceiling_that_does_not_name_them(tmp_path: Path) -> None:
    named = 'packs = ["mine"]\n' + CEILING
    trusted = write(packs(tmp_path / "ours", "a"), ceilings__low=CEILING, ceilings__wide=named)
    untrusted = write(packs(tmp_path / "repo", "mine"), ceilings__evil=CEILING)
    library = load_directories([trusted], untrusted=[untrusted])
    effect = library.catalog.effects["mine/one"]
    assert [*library.ceilings] == ["low", "wide"]
    assert library.ceilings["low"].admits(effect) == "the ceiling low does not list the pack mine"
    assert library.ceilings["wide"].admits(effect) == ""


def test_an_empty_directory_is_an_empty_library(tmp_path: Path) -> None:
    library = load_directories([tmp_path])
    assert (library.packs, dict(library.catalog.effects), dict(library.ceilings)) == ((), {}, {})


def test_one_fault_anywhere_and_there_is_no_library(tmp_path: Path) -> None:
    directory = write(packs(tmp_path, "a", "b"), c="x = 1\n", d="[plugin\n", ceilings__low="max_risk = 'no'\n")
    found = faults(directory)
    assert {(Path(fault.file).name, fault.key, fault.line) for fault in found} == {
        ("c.toml", "x", 1),
        ("c.toml", "plugin", 1),
        ("d.toml", "", 1),
        ("low.toml", "title", 1),
        ("low.toml", "max_risk", 1),
        ("low.toml", "operations", 1),
    }


CEILINGS = [
    ("colour = 1\n" + CEILING, "colour", 1, "unknown key"),
    (CEILING.replace("web_fetch", "fly"), "operations.fly", 4, "'fly' is not an operation"),
    (CEILING.replace("low_risk", "high"), "operations.web_fetch", 4, "'high' is not a level"),
    ('effects = ["github"]\n' + CEILING, "effects[0]", 1, "not a pattern of effect ids"),
    ('not_effects = ["*"]\n' + CEILING, "not_effects[0]", 1, "not a pattern of effect ids"),
    ('sinks = ["void"]\n' + CEILING, "sinks[0]", 1, "'void' is not a sink"),
    ('packs = ["A"]\n' + CEILING, "packs[0]", 1, "'A' is not an id"),
]


@pytest.mark.parametrize(("text", "key", "line", "message"), CEILINGS, ids=[row[1] for row in CEILINGS])
def test_faults_of_a_ceiling(tmp_path: Path, text: str, key: str, line: int, message: str) -> None:
    (fault,) = faults(write(packs(tmp_path, "a"), ceilings__low=text))
    assert (fault.key, fault.line) == (key, line)
    assert message in fault.message
    assert fault.fix


def test_a_ceiling_in_two_directories_or_with_no_name(tmp_path: Path) -> None:
    one, two = (write(packs(tmp_path / n, n), ceilings__low=CEILING) for n in ("a", "b"))
    (fault,) = faults(one, two)
    assert "two directories" in fault.message
    write(one, ceilings__Low=CEILING)
    (fault,) = faults(one)
    assert "'Low' is not the name of a ceiling" in fault.message


def test_what_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    bad = packs(tmp_path / "bad", "a")
    (bad / "b.toml").write_bytes(b'x = "ok"\ny = "\xff"\n')
    (bad / "c.toml").mkdir()
    os.mkfifo(bad / "d.toml")
    (bad / "e.toml").symlink_to("/dev/zero")
    found = faults(tmp_path / "missing", bad)
    assert [(Path(fault.file).name, fault.line) for fault in found] == [
        ("b.toml", 2), ("c.toml", 0), ("d.toml", 0), ("e.toml", 0), ("missing", 0),
    ]  # fmt: skip
    assert all(fault.fix for fault in found)


SYNTAX = [
    ("a = 1\na = 2\n", 2, "not valid TOML"),
    ("a = [1\n", 2, "not valid TOML"),
    ("b = " + "9" * 5000, 0, "not valid TOML"),
    ("a = " + "[" * 5000 + "]" * 5000, 0, "nested too deeply"),
]


@pytest.mark.parametrize(("text", "line", "message"), SYNTAX, ids=[row[0][:12] for row in SYNTAX])
def test_what_is_no_toml_is_a_fault_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    (fault,) = faults(write(tmp_path, a=text))
    assert message in fault.message
    assert fault.line in (line, 1)


def test_the_digest_of_the_sources_follows_every_text(tmp_path: Path) -> None:
    before = read_sources([packs(tmp_path, "a", "b")])
    assert read_sources([tmp_path]).digest == before.digest
    write(tmp_path, ceilings__low=CEILING)
    with_ceiling = read_sources([tmp_path])
    (tmp_path / "a.toml").write_text(PACK.format(name="a") + "# more\n")
    digests = {before.digest, with_ceiling.digest, read_sources([tmp_path]).digest, read_sources([], [tmp_path]).digest}
    assert len(digests) == 4


def test_loading_needs_no_file(tmp_path: Path) -> None:
    sources = read_sources([packs(tmp_path, "a")])
    (tmp_path / "a.toml").unlink()
    assert [*load(sources).catalog.effects] == ["a/one"]
