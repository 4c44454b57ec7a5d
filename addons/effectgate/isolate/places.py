"""From what is to be protected to a view: which names a command could move, replace or make, and by which other paths it could come."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from effectgate.isolate.errors import IsolationError
from effectgate.isolate.sockets import sockets_in_reach
from effectgate.isolate.view import View, unescaped

# Directories of the root that a command sees other ones of.
REPLACED = (("dev",), ("proc",), ("run",), ("sys",))


@dataclass(frozen=True, slots=True)
class Protected:
    """Paths as written in the settings, by what they are called there.

    `hidden` must exist, except those in `optional`; the directories of `shared` ones are other programs' as well, and stay open;
    `shown` are readable files within them; `absent` must not come to be.
    """

    hidden: dict[str, Path]
    optional: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    shown: tuple[Path, ...] = ()
    sealed: tuple[Path, ...] = ()
    absent: dict[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ground:
    """Where the command works, as directories without symbolic links; `root` where it runs as root."""

    cwd: Path
    others: frozenset[Path]
    root: bool

    @classmethod
    def here(cls) -> Ground:
        """Of this process: its working directory, its home, and where temporary files go."""
        places = {tempfile.gettempdir(), "/tmp", "/var/tmp", os.path.expanduser("~"), pwd.getpwuid(os.geteuid()).pw_dir}
        existing = {Path(place).resolve() for place in places if os.path.isdir(place)}
        return cls(Path.cwd().resolve(), frozenset(existing - {Path("/")}), os.geteuid() == 0)

    @property
    def all(self) -> frozenset[Path]:
        """Everything in which it must be able to work."""
        return self.others | {self.cwd}


def lay_out(protected: Protected, ground: Ground) -> View:
    """The view that protects all of it. Raises IsolationError where something could not be held."""
    hidden = {what: path for what, path in protected.hidden.items() if what not in protected.optional or path.exists()}
    if ground.cwd.parts[1:2] in REPLACED:
        raise IsolationError(
            f"the command would work in {ground.cwd}, which it gets a new one of", "start it elsewhere"
        )
    layout = _Layout(ground, _sealable(protected, hidden, ground))
    for what, path in hidden.items():
        layout.require(what, path)
    for what, path in protected.absent.items():
        layout.require_absent(what, path)
    real = [path.resolve() for path in hidden.values()]
    closed = [*real, *(Path("/", *parts) for parts in REPLACED)]
    sockets = sockets_in_reach(_outermost(ground.all), closed)
    return View(
        cwd=ground.cwd,
        hidden=tuple(dict.fromkeys([*aliases(real), *aliases(sorted(sockets))])),
        shown=tuple(path.resolve() for path in protected.shown if path.is_file()),
        sealed=layout.sealed,
        pinned=tuple(dict.fromkeys(pin for path in [*real, *layout.sealed] for pin in layout.pins(path))),
        exposed=tuple(path for path in real if layout.free(path.parent)),
        writable=_outermost(ground.all) if ground.root else None,
    )


def _outermost(directories: Iterable[Path]) -> tuple[Path, ...]:
    every = frozenset(directories)
    return tuple(sorted(path for path in every if every.isdisjoint(path.parents)))


def _sealable(protected: Protected, hidden: dict[str, Path], ground: Ground) -> tuple[Path, ...]:
    """The directories that hold what is protected, and those of the program, unless the command works in them."""
    ours = (path for what, path in hidden.items() if what not in protected.shared)
    wanted = [*(path.resolve().parent for path in ours), *(path.resolve() for path in protected.sealed)]
    held = [path for path in wanted if path.is_dir() and not any(one.is_relative_to(path) for one in ground.all)]
    return tuple(dict.fromkeys(held))


class _Layout:
    """What the command could do to names, once `sealed` is in force."""

    def __init__(self, ground: Ground, sealed: tuple[Path, ...]) -> None:
        self._ground = ground
        self.sealed = sealed

    def free(self, directory: Path) -> bool:
        """Whether the command could make, rename or remove names in a directory."""
        if any(directory.is_relative_to(sealed) for sealed in self.sealed):
            return False
        if self._ground.root:
            return any(directory.is_relative_to(place) for place in self._ground.all)
        return os.access(directory, os.W_OK)

    def pins(self, path: Path) -> Iterator[Path]:
        """The directories above `path` that the command could rename, to put others in their place."""
        return (above for above in path.parents if above != Path("/") and self.free(above.parent))

    def require(self, what: str, path: Path) -> None:
        """Raise IsolationError unless `path` is there, by this name alone, and not where the command works."""
        if not path.exists():
            raise IsolationError(f"{what}: there is nothing at {path} to be hidden", "start ./run_proxy.sh first")
        for link in _links(path):
            if self.free(link.parent):
                fix = f"write the path that it leads to, {link.resolve()}"
                raise IsolationError(f"{what}: {link} is a symbolic link that the command could replace", fix)
        if self._ground.cwd.is_relative_to(path.resolve()):
            raise IsolationError(f"{what}: the command would work inside {path}, which is hidden", "start it elsewhere")
        for file in _files(path):
            if file.stat().st_nlink > 1:
                fix = "remove the other name, or copy the file over itself"
                raise IsolationError(f"{what}: {file} has another name (a hard link), which would stay in sight", fix)

    def require_absent(self, what: str, path: Path) -> None:
        """Raise IsolationError where the command could make `path`, and so have it read."""
        above = next(one for one in path.resolve().parents if one.exists())
        if not path.exists() and self.free(above):
            raise IsolationError(f"{what}: the command could make {path}, and it would be read", f"write `{what}:` out")


def _links(path: Path) -> Iterator[Path]:
    """The symbolic links on the way to `path`, each by its real directory; those that they lead to as well."""
    for one in (*reversed(path.parents), path):
        if one.is_symlink():
            place = one.parent.resolve() / one.name
            yield place
            yield from _links(place.parent / os.readlink(place))


def _files(path: Path) -> Iterable[Path]:
    found = path.rglob("*") if path.is_dir() else [path]
    return (one for one in found if one.is_file() and not one.is_symlink())


@dataclass(frozen=True, slots=True)
class _Mount:
    """A line of mountinfo: the device, the part of it that is mounted, and where."""

    device: str
    root: Path
    point: Path


def _mounts() -> list[_Mount]:
    lines = (line.split(" ") for line in Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines())
    return [_Mount(line[2], Path(unescaped(line[3])), Path(unescaped(line[4]))) for line in lines]


def aliases(paths: Iterable[Path]) -> Iterator[Path]:
    """Each path, and every other one at which a bind mount shows the same file."""
    mounts = _mounts()
    for path in paths:
        yield path
        under = [mount for mount in mounts if path.is_relative_to(mount.point)]
        home = max(under, key=lambda mount: len(mount.point.parts))
        inside = home.root / path.relative_to(home.point)
        for mount in mounts:
            if mount.device == home.device and inside.is_relative_to(mount.root):
                other = mount.point / inside.relative_to(mount.root)
                if other != path and _same(other, path):
                    yield other


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
