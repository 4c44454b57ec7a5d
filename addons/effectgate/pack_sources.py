"""The texts of pack and ceiling files: a set of directories, read whole, with a digest that a cache can be keyed by."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from effectgate.policy.fault import Fault, FaultsError
from effectgate.text_file import read_text

CEILINGS = "ceilings"


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one file. `name` is its file name without `.toml`; `trusted`: the operator listed its directory."""

    file: str
    name: str
    text: str
    trusted: bool


@dataclass(frozen=True, slots=True)
class Sources:
    """Every pack and ceiling file of some directories, in order. `digest` is over names, texts and trust."""

    packs: tuple[Source, ...]
    ceilings: tuple[Source, ...]

    @property
    def digest(self) -> str:
        """Hex SHA-256: the same digest, the same library (for the same sites and exemptions)."""
        out = hashlib.sha256()
        for kind in (self.packs, self.ceilings):
            for source in kind:
                for part in (source.file, source.text, str(source.trusted)):
                    out.update(f"{len(part)}:{part}".encode())
            out.update(b";")
        return out.hexdigest()


def read_sources(directories: Sequence[Path], untrusted: Sequence[Path] = ()) -> Sources:
    """Read `*.toml` of each directory, not recursively, by name, and the ceilings of the trusted ones.

    `untrusted` are directories that an agent may write (a repository's `.effectgate/effects`): their ceilings are not
    read, and no ceiling has their packs unless it names them. FaultsError for directories and files that cannot be read.
    """
    faults: list[Fault] = []
    packs: list[Source] = []
    ceilings: list[Source] = []
    for directory in dict.fromkeys(directories):
        packs += _read_directory(directory, True, faults)
        if (directory / CEILINGS).is_dir():
            ceilings += _read_directory(directory / CEILINGS, True, faults)
    for directory in dict.fromkeys(untrusted):
        packs += _read_directory(directory, False, faults)
    if faults:
        raise FaultsError(faults)
    return Sources(tuple(packs), tuple(ceilings))


def _read_directory(directory: Path, trusted: bool, faults: list[Fault]) -> list[Source]:
    try:
        files = sorted(path for path in directory.iterdir() if path.suffix == ".toml" and not path.name.startswith("."))
    except OSError as error:
        message = f"the directory cannot be read: {error.strerror}"
        faults.append(Fault(str(directory), 0, "", message, "correct `packs:` or the permissions"))
        return []
    return [source for path in files if (source := read_file(path, trusted, faults))]


def read_file(path: Path, trusted: bool, faults: list[Fault]) -> Source | None:
    """One file, or None and why not in `faults`."""
    try:
        return Source(str(path), path.stem, read_text(path), trusted)
    except OSError as error:
        fix = "correct its permissions, or take it out of the directory"
        faults.append(Fault(str(path), 0, "", f"the file cannot be read: {error.strerror}", fix))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        faults.append(Fault(str(path), line, "", "the file is not UTF-8 here", "save it as UTF-8"))
    return None
