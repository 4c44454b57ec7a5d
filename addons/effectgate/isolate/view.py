"""What a command sees of the file system, as mounts in a mount namespace of its own.

Mounts made here cannot be undone from inside: the command has no capability in the namespace, and a user namespace that it makes for
itself inherits them locked (mount_namespaces(7)).
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from effectgate.isolate import kernel

RUN = "/run"
# address, references, protocol, flags, type, state, inode (padded), path
SOCKET_LINE = re.compile(r"[0-9a-f]+:(?: [0-9A-F]+){5} +[0-9]+ ([^@].*)")
TMPFS = kernel.MS_NOSUID | kernel.MS_NODEV
LOCKED = kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV


@dataclass(frozen=True, slots=True)
class View:
    """Absolute paths without symbolic links, all of which exist.

    `hidden` can be neither read nor written, but for the files in `shown`, which can be read; `sealed` directories can be read only;
    `pinned` ones can be neither renamed nor removed. For root, only what lies in `writable` can be written at all.
    `exposed` names those of `hidden` that lie where the command can make files (see `replaced.py`).
    """

    cwd: Path
    hidden: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    sealed: tuple[Path, ...] = ()
    pinned: tuple[Path, ...] = ()
    writable: tuple[Path, ...] | None = None
    exposed: tuple[Path, ...] = ()


def arrange(view: View) -> None:
    """Make the current mount namespace, which has to be ours, show `view`. Raises OSError."""
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.set_attributes("/", kernel.ATTR_NOSUID | kernel.ATTR_NODEV, recursive=True)
    kernel.set_attributes("/sys", kernel.ATTR_RDONLY, recursive=True)
    if view.writable is not None:
        _write_only_in(view.writable)
    for path in sorted({*view.pinned, *view.sealed}, key=lambda path: len(path.parts)):
        kernel.bind(str(path), str(path))
    for path in view.sealed:
        kernel.set_attributes(str(path), kernel.ATTR_RDONLY, recursive=True)
    _hide(view)


def _write_only_in(directories: Sequence[Path]) -> None:
    for directory in directories:
        kernel.bind(str(directory), str(directory))
    kernel.set_attributes("/", kernel.ATTR_RDONLY, recursive=True)
    for point in mount_points():
        if any(point.is_relative_to(directory) for directory in directories):
            # What the system has mounted read-only stays so: the kernel refuses to clear it.
            with contextlib.suppress(OSError):
                kernel.set_attributes(str(point), 0, clear=kernel.ATTR_RDONLY)


def mount_points() -> list[Path]:
    """Where something is mounted, in the order of mounting (proc_pid_mountinfo(5))."""
    lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    return [Path(unescaped(line.split(" ")[4])) for line in lines]


def unescaped(field: str) -> str:
    r"""A field of mountinfo: space, tab, newline and backslash are written `\ooo`."""
    return os.fsdecode(os.fsencode(field).decode("unicode_escape").encode("latin-1")) if "\\" in field else field


def _hide(view: View) -> None:
    """Cover with something that nobody may open. It lies in a tmpfs at /run, and that is covered by an empty one in the end."""
    shown = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in view.shown}
    kernel.mount("tmpfs", RUN, "tmpfs", TMPFS, "mode=755,size=64k")
    file, directory = Path(RUN, "file"), Path(RUN, "directory")
    file.touch(0)
    directory.mkdir(0)
    for path in view.hidden:
        inside = {one: descriptor for one, descriptor in shown.items() if one.is_relative_to(path)}
        if inside:
            _show(path, inside)
        elif path.exists():  # not where it was in /run
            kernel.bind(str(directory if path.is_dir() else file), str(path))
        else:
            continue
        kernel.set_attributes(str(path), LOCKED)
    _empty_run()
    for descriptor in shown.values():
        os.close(descriptor)


def _show(directory: Path, files: dict[Path, int]) -> None:
    """Cover a directory with an empty one in which only `files` appear."""
    kernel.mount("tmpfs", str(directory), "tmpfs", TMPFS, "mode=755,size=64k")
    for path, descriptor in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        kernel.bind(f"/proc/self/fd/{descriptor}", str(path))
        kernel.set_attributes(str(path), LOCKED)


def _empty_run() -> None:
    """A /run without anybody's sockets, with what programs expect of it."""
    kernel.mount("tmpfs", RUN, "tmpfs", TMPFS, "mode=755")
    for path, mode in (
        (Path(RUN, "lock"), 0o1777),
        (Path(RUN, "user"), 0o755),
        (Path(RUN, "user", str(os.getuid())), 0o700),
    ):
        path.mkdir(mode)
        path.chmod(mode)


def listening_sockets(table: str, places: Iterable[Path] = ()) -> Iterator[list[Path]]:
    """For each socket with a name that `table`, the text of /proc/net/unix (proc_net(5)), lists: the paths at which one lies now.

    Relative names are looked for in each of `places`.
    """
    for line in table.splitlines():
        if found := SOCKET_LINE.match(line):
            named = [Path(found[1])] if found[1].startswith("/") else [place / found[1] for place in places]
            yield [path for path in named if _is_socket(path)]


def _is_socket(path: Path) -> bool:
    # Not where it is gone, of another mount namespace, or out of our reach and so of the command's.
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False
