"""`effectgate serve` in a mount namespace of its own, its state on a small tmpfs: a disk that can be filled, or covered, for real."""

from __future__ import annotations

import ctypes
import os

from effectgate.cli import main

MS_PRIVATE, MS_REC = 1 << 18, 1 << 14  # mount(2)
SIZE = "size=8m,mode=0700"


def mount(source: str, target: str, kind: str, flags: int, data: str) -> None:
    """mount(2). Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)


def enter() -> None:
    """A mount namespace; for a user who is not root inside a user namespace, in which he may mount."""
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        os.unshare(os.CLONE_NEWNS)
        return
    os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNS)
    for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)


if __name__ == "__main__":
    enter()
    mount("none", "/", "none", MS_REC | MS_PRIVATE, "")
    mount("state", os.environ["EFFECTGATE_TEST_DISK"], "tmpfs", 0, SIZE)
    main()
