"""Unix sockets outside that a command could reach by a path: what the kernel lists, and what lies where the command works.

The kernel lists the name of the bind only: a socket may have been linked elsewhere since. Where one lies no longer at its name, all
places are searched.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from effectgate.isolate.errors import IsolationError
from effectgate.isolate.view import listening_sockets

MOST_ENTRIES = 3_000_000


def sockets_in_reach(places: Iterable[Path], without: Collection[Path]) -> set[Path]:
    """The sockets of other programs, by real paths. `places` are searched only where the kernel lists one that is not where it was bound."""
    known = [paths for table, directories in _tables() for paths in listening_sockets(table, directories)]
    found = {path.resolve() for paths in known for path in paths}
    moved = any(not paths or any(path.stat().st_nlink > 1 for path in paths) for paths in known)
    return found | {path.resolve() for path in lying_sockets(places, without)} if moved else found


def _tables() -> list[tuple[str, set[Path]]]:
    """The table of every network namespace that we can see, and the directories of all processes, for relative names."""
    tables, places, seen = ["/proc/net/unix"], set[Path](), {os.readlink("/proc/self/ns/net")}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # ended, or somebody else's
            places.add(Path(os.readlink(f"/proc/{name}/cwd")))
            if (namespace := os.readlink(f"/proc/{name}/ns/net")) not in seen:
                seen.add(namespace)
                tables.append(f"/proc/{name}/net/unix")
    return [(text, places) for text in map(_text, tables) if text]


def _text(file: str) -> str:
    try:
        return Path(file).read_text(errors="surrogateescape")
    except OSError:
        return ""


def lying_sockets(places: Iterable[Path], without: Collection[Path], most: int = MOST_ENTRIES) -> Iterator[Path]:
    """Every socket below `places`, other mounts included, links not followed. Raises IsolationError beyond `most` entries."""
    waiting = [str(place) for place in places]
    closed = {str(path) for path in without}
    count = 0
    while waiting:
        directory = waiting.pop()
        if directory in closed:
            continue
        with contextlib.suppress(OSError), os.scandir(directory) as entries:
            for entry in entries:
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif not (entry.is_file(follow_symlinks=False) or entry.is_symlink()) and Path(entry.path).is_socket():
                    yield Path(entry.path)
        if count > most:
            reason = f"more than {most} files lie where the command works: sockets among them cannot be looked for"
            raise IsolationError(reason, "start it in a smaller directory, with a HOME of its own")
