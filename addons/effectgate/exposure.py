"""Who besides us and root could write a file that decides: by its owner, its mode, and those of every directory above it.

Only that is knowable: which user the agents run as is not. An agent that runs as our own user can write all of it, unless `run` holds it.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = 0


@dataclass(frozen=True, slots=True)
class Exposure:
    """A file or directory that others could change, how, and what to do about it."""

    path: Path
    reason: str
    fix: str


def exposures(paths: Iterable[Path]) -> Iterator[Exposure]:
    """Each place once, in order; what does not exist is passed over."""
    for place in dict.fromkeys(place for path in paths for place in _places(path)):
        try:
            status = place.stat()
        except OSError:
            continue
        yield from _exposed(place, status)


def _places(path: Path) -> Iterator[Path]:
    """Everything by whose change the path would lead to something else: directories above, links and where they lead, files within."""
    for one in (path.absolute(), path.resolve()):
        yield from reversed(one.parents)
        yield one
    if path.is_dir():
        yield from sorted(path.glob("*.toml"))


def _exposed(place: Path, status: os.stat_result) -> Iterator[Exposure]:
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid not in (ROOT, os.geteuid()):
        yield Exposure(place, f"it belongs to {_user(status.st_uid)}", f"chown {_user(os.geteuid())} {place}")
    if stat.S_ISDIR(status.st_mode) and mode & stat.S_ISVTX:
        return  # anyone may make names in it, and nobody may touch those of others
    if mode & stat.S_IWOTH:
        yield Exposure(place, f"anyone can write it (mode {mode:04o})", f"chmod o-w {place}")
    elif mode & stat.S_IWGRP and not _own(status.st_gid):
        yield Exposure(place, f"group {_group(status.st_gid)} can write it (mode {mode:04o})", f"chmod g-w {place}")


def _own(group: int) -> bool:
    """Whether a group is root's, or the private one of our user."""
    if group == ROOT:
        return True
    try:
        entry, user = grp.getgrgid(group), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    return entry.gr_name == user and set(entry.gr_mem) <= {user}


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
