"""Files that people write: anything that could be waited for is refused at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from effectgate.text_file import read_text


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, _socket, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_regular_file_is_refused_at_once(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "odd")
    with pytest.raises(OSError):
        read_text(tmp_path / "odd")


def test_nothing_is_empty() -> None:
    assert read_text(Path(os.devnull)) == ""


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("é")
    (tmp_path / "link").symlink_to("real")
    assert read_text(tmp_path / "link") == "é"
