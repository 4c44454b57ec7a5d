"""Who could write what decides, by owner, mode, and the directories above."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

import pytest

from effectgate.exposure import _exposed, exposures

OTHER = 12345


def told(path: Path, within: Path) -> list[tuple[str, str]]:
    """What is told of places below `within`: name and fix."""
    found = [exposure for exposure in exposures([path]) if exposure.path.is_relative_to(within)]
    assert all(exposure.reason for exposure in found)
    return [(exposure.path.name, exposure.fix.split(" ")[0] + " " + exposure.fix.split(" ")[1]) for exposure in found]


@pytest.fixture
def grants(tmp_path: Path) -> Path:
    file = tmp_path / "place" / "grants.yaml"
    file.parent.mkdir(mode=0o755)
    file.write_text("")
    file.chmod(0o644)
    return file


def test_what_only_we_can_write_is_not_told(grants: Path, tmp_path: Path) -> None:
    assert told(grants, tmp_path) == []


def test_a_file_that_anyone_can_write(grants: Path, tmp_path: Path) -> None:
    grants.chmod(0o646)
    assert told(grants, tmp_path) == [("grants.yaml", "chmod o-w")]


def test_a_directory_above_that_anyone_can_write(grants: Path, tmp_path: Path) -> None:
    grants.parent.chmod(0o757)
    assert told(grants, tmp_path) == [("place", "chmod o-w")]


def test_a_sticky_directory_protects_what_is_in_it(grants: Path, tmp_path: Path) -> None:
    grants.parent.chmod(0o1777)
    assert told(grants, tmp_path) == []


def test_a_pack_in_a_directory(grants: Path, tmp_path: Path) -> None:
    pack = grants.parent / "a.toml"
    pack.write_text("")
    pack.chmod(0o666)
    assert told(grants.parent, tmp_path) == [("a.toml", "chmod o-w")]


def test_where_a_link_leads_and_where_it_lies(grants: Path, tmp_path: Path) -> None:
    link = tmp_path / "open" / "link"
    link.parent.mkdir()
    link.parent.chmod(0o757)
    link.symlink_to(grants)
    grants.chmod(0o646)
    assert {name for name, _ in told(link, tmp_path)} == {"open", "link", "grants.yaml"}


@pytest.mark.parametrize(
    ("mode", "owner", "group", "fix"),
    [
        (0o644, os.geteuid(), OTHER, ""),
        (0o664, os.geteuid(), OTHER, "chmod g-w F"),
        (0o664, os.geteuid(), 0, ""),
        (0o644, 0, 0, ""),
        (0o600, OTHER, 0, f"chown {pwd.getpwuid(os.geteuid()).pw_name} F"),
    ],
)
def test_owners_and_groups(mode: int, owner: int, group: int, fix: str) -> None:
    status = os.stat_result((stat.S_IFREG | mode, 1, 1, 1, owner, group, 0, 0, 0, 0))
    assert [exposure.fix for exposure in _exposed(Path("F"), status)] == list(filter(None, [fix]))


def test_what_is_not_there_is_passed_over(tmp_path: Path) -> None:
    assert told(tmp_path / "gone" / "grants.yaml", tmp_path) == []
