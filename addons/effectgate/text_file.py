"""Files that people write: regular ones only, and /dev/null. A pipe, or another device, would be waited for without end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path) -> bytes:
    """What a regular file holds. Raises OSError; for anything that is no regular file with errno EINVAL, and at once."""
    # O_NONBLOCK: opening a pipe that nobody writes would wait. It changes nothing for a regular file (open(2)).
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not (stat.S_ISREG(status.st_mode) or os.path.samestat(status, os.stat(os.devnull))):
            raise OSError(errno.EINVAL, "no regular file", str(path))
        return stream.read()


def read_text(path: Path) -> str:
    """Its UTF-8 text. Raises OSError, UnicodeDecodeError."""
    return read_regular(path).decode("utf-8")
