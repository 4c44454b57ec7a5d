"""What is hidden where the command works stays hidden only as the file that it was: a rename from outside over it takes the cover off.

The kernel offers no way to cover a name whose directory stays writable. So such a replacement is told at once, and what it means.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

LOOK_SECONDS = 0.5


@contextmanager
def watching(paths: Sequence[Path], tell: Callable[[str], None]) -> Iterator[None]:
    """Inside the block, `tell` once of each path that is another file than it was."""
    if not paths:
        yield
        return
    ended = threading.Event()
    first = {path: _identity(path) for path in paths}
    thread = threading.Thread(target=_look, args=(first, tell, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _look(first: dict[Path, tuple[int, int]], tell: Callable[[str], None], ended: threading.Event) -> None:
    while not ended.wait(LOOK_SECONDS):
        for path in [path for path, identity in first.items() if _identity(path) != identity]:
            del first[path]
            tell(
                f"{path} was replaced: from now on the command can reach it; start the command again, or keep the file elsewhere"
            )


def _identity(path: Path) -> tuple[int, int]:
    """Device and inode; zeros where there is none."""
    with contextlib.suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return 0, 0
