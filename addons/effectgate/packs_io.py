"""Reading pack and ceiling files: a set of directories is read whole, checked whole, and only then has a value.

Two steps, so that a cache can stand between them: `read_sources` gets texts and their digest, `load` makes the library.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomli

from effectgate.pack_sources import Source, Sources, read_file, read_sources
from effectgate.policy.catalog import Catalog
from effectgate.policy.ceiling_file import read_ceiling
from effectgate.policy.check import Exemption, check
from effectgate.policy.document import Document, KeyPath, nearest_line
from effectgate.policy.fault import Fault, FaultsError
from effectgate.policy.goal import GoalRules
from effectgate.policy.goal_file import read_goals
from effectgate.policy.lattice import Ceiling
from effectgate.policy.pack import Pack, at_example_sites, read_pack
from effectgate.policy.site import Sites
from effectgate.policy.toml_lines import lines_of
from effectgate.policy.words import is_id_segment

NO_SITES = Sites()
# The directory of goal rules below a directory of packs.
GOALS = "goals"


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """What was loaded: packs in order, the catalog of all their effects, and the ceilings by name."""

    packs: tuple[Pack, ...]
    catalog: Catalog
    ceilings: Mapping[str, Ceiling]


def load(sources: Sources, *, sites: Sites = NO_SITES, exceptions: Collection[Exemption] = ()) -> Library:
    """Check and build everything; the whole library or FaultsError with every fault of every file."""
    faults: list[Fault] = []
    packs = tuple(pack for source in sources.packs if (pack := _pack(source, sites, faults)))
    ceilings = _ceilings(sources, faults)
    faults += check([at_example_sites(pack) for pack in packs], exceptions)
    if faults:
        raise FaultsError(faults)
    return Library(packs, Catalog.build([effect for pack in packs for effect in pack.effects]), ceilings)


def load_directories(
    directories: Sequence[Path],
    *,
    untrusted: Sequence[Path] = (),
    sites: Sites = NO_SITES,
    exceptions: Collection[Exemption] = (),
) -> Library:
    """`read_sources` and `load` in one."""
    return load(read_sources(directories, untrusted), sites=sites, exceptions=exceptions)


def read_document(file: Path) -> Document:
    """One TOML file, as packs are read. Raises FaultsError."""
    faults: list[Fault] = []
    source = read_file(file, True, faults)
    if source is None or (document := _parse(source, faults)) is None:
        raise FaultsError(faults)
    return document


def load_goals(directories: Iterable[Path]) -> GoalRules:
    """The goal rules that lie beside the packs of these directories, in order. Raises FaultsError."""
    rules, faults = GoalRules((), ()), list[Fault]()
    for file in [file for directory in directories for file in sorted((directory / GOALS).glob("*.toml"))]:
        more, found = read_goals(read_document(file))
        rules = GoalRules(rules.rules + more.rules, rules.ecosystems + more.ecosystems)
        faults += found
    if faults:
        raise FaultsError(faults)
    return rules


def _pack(source: Source, sites: Sites, faults: list[Fault]) -> Pack | None:
    if (document := _parse(source, faults)) is None:
        return None
    pack, found = read_pack(document, source.name, sites)
    faults += found
    return pack


def _ceilings(sources: Sources, faults: list[Fault]) -> Mapping[str, Ceiling]:
    trusted = frozenset(source.name for source in sources.packs if source.trusted)
    out: dict[str, Ceiling] = {}
    for source in sources.ceilings:
        document = _parse(source, faults)
        if document is None:
            continue
        ceiling, found = read_ceiling(document, source.name, trusted)
        faults += found
        faults += _name_faults(document, source.name, out)
        if ceiling is not None:
            out.setdefault(source.name, ceiling)
    return out


def _name_faults(document: Document, name: str, known: Iterable[str]) -> Iterable[Fault]:
    if not is_id_segment(name):
        yield document.fault((), f"{name!r} is not the name of a ceiling", "name the file with a-z, 0-9 and `-` inside")
    if name in known:
        yield document.fault((), f"the ceiling {name} is given in two directories", "keep one of the files")


def _parse(source: Source, faults: list[Fault]) -> Document | None:
    try:
        value = tomli.loads(source.text)
    except tomli.TOMLDecodeError as error:
        faults.append(
            Fault(source.file, error.lineno, "", f"not valid TOML: {error.msg}", "correct the syntax at this line")
        )
        return None
    except ValueError as error:  # a number of more digits than Python reads
        faults.append(Fault(source.file, 0, "", f"not valid TOML: {error}", "write a smaller number"))
        return None
    except RecursionError:
        faults.append(Fault(source.file, 0, "", "the TOML is nested too deeply", "write it flatter"))
        return None
    return Document(source.file, value, _Lines(source.text))


class _Lines:
    """Finds lines when the first fault asks for one: most files have none."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: dict[KeyPath, int] | None = None

    def __call__(self, path: KeyPath) -> int:
        if self._lines is None:
            self._lines = lines_of(self._text)
        return nearest_line(self._lines, path)
