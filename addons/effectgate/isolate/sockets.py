"""Unix sockets outside that a command could reach by a path: what the kernel lists, and what lies where the command works.

The kernel lists the name of the bind only, and of one network namespace: a socket may be linked elsewhere since. So we look as well.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from effectgate.isolate.errors import IsolationError
from effectgate.isolate.view import listening_sockets

MOST_ENTRIES = 3_000_000


def known_sockets() -> Iterator[Path]:
    """Those in the table of every network namespace that we can see, relative names by the directories of all processes."""
    tables, places = {"/proc/net/unix"}, set[Path]()
    seen = set[str]()
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # ended, or somebody else's
            places.add(Path(os.readlink(f"/proc/{name}/cwd")))
            if (namespace := os.readlink(f"/proc/{name}/ns/net")) not in seen:
                seen.add(namespace)
                tables.add(f"/proc/{name}/net/unix")
    for table in tables:
        with contextlib.suppress(OSError):
            yield from listening_sockets(Path(table).read_text(errors="surrogateescape"), places)


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
