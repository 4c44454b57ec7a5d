"""What is laid out for a command, and what is refused because it could not be held."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from effectgate.isolate.errors import IsolationError
from effectgate.isolate.places import Ground, Protected, lay_out
from effectgate.isolate.sockets import lying_sockets
from effectgate.isolate.view import View, listening_sockets, unescaped


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An installation and, beside it, where a command works."""
    for name in ("ours", "ours/var", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "ours" / "grants.yaml").write_text("x")
    return tmp_path


def laid_out(
    place: Path,
    hidden: Mapping[str, str],
    *,
    cwd: str = "work",
    absent: Mapping[str, str] | None = None,
    shared: frozenset[str] = frozenset(),
) -> View:
    ground = Ground((place / cwd).resolve(), frozenset(), root=False)
    paths = {what: place / path for what, path in hidden.items()}
    away = {what: place / path for what, path in (absent or {}).items()}
    view = lay_out(Protected(paths, shared=shared, absent=away), ground)
    sockets = frozenset(path for path in view.hidden if path.is_socket())
    return View(view.cwd, tuple(path for path in view.hidden if path not in sockets), *_rest(view))


def _rest(view: View) -> tuple[tuple[Path, ...], ...]:
    return view.shown, view.sealed, view.pinned


def test_the_directories_of_what_is_hidden_are_sealed(place: Path) -> None:
    view = laid_out(place, {"state": "ours/var", "grants": "ours/grants.yaml"})
    assert set(view.hidden) == {place / "ours/var", place / "ours/grants.yaml"}
    assert view.sealed == (place / "ours",)
    assert place / "ours" in view.pinned


def test_a_directory_that_others_use_stays_open_and_keeps_its_name(place: Path) -> None:
    (place / "caches" / "effectgate").mkdir(parents=True)
    view = laid_out(place, {"cache": "caches/effectgate"}, shared=frozenset({"cache"}))
    assert view.hidden == (place / "caches/effectgate",)
    assert view.sealed == ()
    assert place / "caches" in view.pinned


def test_where_the_command_works_stays_open_but_for_what_is_hidden(place: Path) -> None:
    view = laid_out(place, {"state": "ours/var", "grants": "ours/grants.yaml"}, cwd="ours")
    assert view.sealed == ()
    assert {place / "ours", place} & set(view.pinned) == {place / "ours"} | ({place} & set(view.pinned))


def test_a_link_is_hidden_by_where_it_leads(place: Path) -> None:
    (place / "ours" / "link").symlink_to(place / "ours" / "var")
    assert laid_out(place, {"state": "ours/link"}).hidden == (place / "ours/var",)


REFUSED = {
    "missing": ({"state": "ours/gone"}, "work", "nothing at"),
    "a link where the command works": ({"state": "work/link"}, "work", "symbolic link"),
    "a link above it": ({"state": "work/up/var"}, "work", "symbolic link"),
    "a second name": ({"grants": "ours/linked.yaml"}, "work", "hard link"),
    "a second name inside": ({"packs[0]": "ours/packs"}, "work", "hard link"),
    "worked in": ({"state": "ours/var"}, "ours/var", "would work inside"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_held_is_refused(place: Path, case: str) -> None:
    hidden, cwd, reason = REFUSED[case]
    (place / "work" / "link").symlink_to(place / "ours" / "var")
    (place / "work" / "up").symlink_to(place / "ours")
    os.link(place / "ours" / "grants.yaml", place / "ours" / "linked.yaml")
    (place / "ours" / "packs").mkdir()
    os.link(place / "ours" / "grants.yaml", place / "ours" / "packs" / "a.toml")
    with pytest.raises(IsolationError, match=reason) as refused:
        laid_out(place, hidden, cwd=cwd)
    assert next(iter(hidden)) in str(refused.value)


@pytest.mark.parametrize("cwd", ["/run", "/proc/self", "/dev/shm", "/sys"])
def test_where_everything_is_replaced_nothing_can_work(place: Path, cwd: str) -> None:
    with pytest.raises(IsolationError, match="would work in"):
        laid_out(place, {"state": "ours/var"}, cwd=cwd)


def test_what_would_be_read_must_not_come_to_be(place: Path) -> None:
    with pytest.raises(IsolationError, match="could make"):
        laid_out(place, {"grants": "ours/grants.yaml"}, cwd="ours", absent={"packs": "ours/effects"})
    laid_out(place, {"grants": "ours/grants.yaml"}, absent={"packs": "ours/effects"})


def test_fields_of_mountinfo_are_unescaped() -> None:
    assert unescaped(r"/a\040b\134c") == "/a b\\c"
    assert unescaped("/plain") == "/plain"


def test_sockets_with_a_path_are_found(tmp_path: Path) -> None:
    place, row = tmp_path / "a b", "0000000000000000: 00000002 00000000 00010000 0001 01"
    head = "Num       RefCount Protocol Flags    Type St Inode Path"
    table = [head, f"{row} 40000 @abstract", f"{row} 40001", f"{row} 40002 /gone", f"{row}     7 {place}"]
    assert list(listening_sockets("\n".join(table))) == [[], []]
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(place))
        assert list(listening_sockets("\n".join(table)))[-1] == [place]
        assert [place] in listening_sockets(Path("/proc/net/unix").read_text())


BOUND = {
    "by a relative name": "s.bind('it')",
    "then linked": "s.bind('first'); os.link('first', 'it'); os.unlink('first')",
    "in another network": "os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNET); s = socket.socket(socket.AF_UNIX); s.bind(os.path.abspath('it'))",
}


@pytest.mark.parametrize("how", BOUND)
def test_a_socket_where_the_command_works_is_hidden(place: Path, how: str) -> None:
    script = (
        f"import os, socket; s = socket.socket(socket.AF_UNIX); {BOUND[how]}; s.listen(); print(flush=True); input()"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=place / "work", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as outside:
        assert outside.stdout is not None
        assert outside.stdout.readline() == b"\n"
        ground = Ground(place / "work", frozenset(), root=False)
        assert place / "work" / "it" in lay_out(Protected({"state": place / "ours/var"}), ground).hidden
        outside.kill()


def test_more_files_than_can_be_looked_through_are_refused(place: Path) -> None:
    with pytest.raises(IsolationError, match="more than 2 files"):
        list(lying_sockets([place], (), 2))
