"""Which changes of files are told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from watchfiles import Change

from effectgate.app.watching import Watched, changes
from effectgate.config import load_settings


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    (tmp_path / "effects" / "ceilings").mkdir(parents=True)
    (tmp_path / "effectgate.yaml").write_text("")
    (tmp_path / "grants.yaml").write_text("")
    return Watched.of(load_settings(tmp_path / "effectgate.yaml"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("effectgate.yaml", True),
        ("grants.yaml", True),
        ("effects/github.toml", True),
        ("effects/ceilings/read-only.toml", True),
        ("effects/.github.toml.swp", False),
        ("effects/deeper/github.toml", False),
        ("grants.yaml.new", False),
        ("var/receipts.db", False),
    ],
)
def test_only_files_that_are_read_concern_us(watched: Watched, tmp_path: Path, name: str, told: bool) -> None:
    assert watched.concerns(Change.modified, str(tmp_path / name)) is told


def test_a_file_put_in_place_by_a_rename_is_told(watched: Watched, tmp_path: Path) -> None:
    async def wait_for_one() -> None:
        async with asyncio.timeout(20):
            async for _ in changes(watched):
                return

    async def replace_after_a_while() -> None:
        for n in range(100):
            await asyncio.sleep(0.2)
            draft = tmp_path / "draft"
            draft.write_text(str(n))
            draft.replace(tmp_path / "grants.yaml")

    async def both() -> None:
        replacing = asyncio.create_task(replace_after_a_while())
        await wait_for_one()
        replacing.cancel()

    asyncio.run(both())
