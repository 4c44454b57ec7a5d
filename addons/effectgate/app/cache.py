"""A cache of checked catalogues, keyed by everything that they were made from: the same files need no second check.

It is pickled, so it is read only where nobody else could have written it: a file of ours, mode 0600, in a directory of ours.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

import effectgate
from effectgate.policy.effect import Effect
from effectgate.policy.lattice import Ceiling

Content = tuple[list[Effect], Mapping[str, Ceiling]]

# Older entries are removed: each edit of a pack makes a new one.
KEPT = 8


def cache_key(*parts: str) -> str:
    """Hex SHA-256 over the parts and over this program, its version and the state of its files."""
    digest = hashlib.sha256(effectgate.__version__.encode())
    for file in sorted(Path(effectgate.__file__).parent.joinpath("policy").glob("*.py")):
        status = file.stat()
        digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


def read_cache(key: str) -> Content | None:
    """What was kept under a key, if it is there and certainly ours."""
    try:
        with open(os.open(_file(key), os.O_RDONLY | os.O_NOFOLLOW), "rb") as stream:
            if not _ours(os.fstat(stream.fileno())) or not _ours(os.stat(cache_directory())):
                return None
            content: Content = pickle.load(stream)
            return content
    except Exception:  # a cache that cannot be read is no cache: the packs are read instead
        return None


def write_cache(key: str, content: Content) -> None:
    """Keep something under a key; a directory that cannot be written is no fault."""
    draft = _file(f".{key}.{os.getpid()}")
    try:
        cache_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            pickle.dump(content, stream, pickle.HIGHEST_PROTOCOL)
        draft.replace(_file(key))
        _remove(sorted(cache_directory().glob("*.catalogue"), key=lambda file: file.stat().st_mtime)[:-KEPT])
    except OSError:
        return


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def cache_directory() -> Path:
    """Where catalogues are kept: under $XDG_CACHE_HOME, else ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "effectgate"


def _file(name: str) -> Path:
    return cache_directory() / f"{name}.catalogue"


def _ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077
