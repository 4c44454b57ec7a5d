"""The pack, the grant and the ceiling of README.md are accepted as they stand there."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from effectgate.app.reading import read_grants, read_library, read_policy
from effectgate.config import Settings, load_settings
from effectgate.policy.example import Examiner

README = (Path(__file__).parents[1] / "README.md").read_text()
EFFECTS = Path(__file__).parents[1] / "effects"


def block(language: str, number: int) -> str:
    """The nth fenced block of a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)[number]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "own" / "ceilings").mkdir(parents=True)
    (tmp_path / "own" / "notes.toml").write_text(block("toml", 0))
    (tmp_path / "own" / "ceilings" / "readers.toml").write_text(block("toml", 1))
    (tmp_path / "grants.yaml").write_text(block("yaml", 0).replace("sha256:…", "sha256:" + "a" * 64))
    (tmp_path / "effectgate.yaml").write_text(f"packs: ['{EFFECTS}', own]\n")
    return load_settings(tmp_path / "effectgate.yaml")


def test_the_pack_loads_beside_ours_and_its_example_holds(settings: Settings) -> None:
    library = read_library(settings)
    (pack,) = (pack for pack in library.packs if pack.name == "notes")
    examiner = Examiner(library.catalog)
    assert all(examiner.ask(example).fits(example) for example in pack.examples)
    assert "readers" in library.ceilings


def test_the_grant_is_without_fault_and_nothing_of_it_is_clipped(settings: Settings) -> None:
    grant = read_grants(settings, read_policy(settings), datetime.now(UTC)).by_principal["ci-fixer"]
    assert set(grant.entries) == {"github/read-ci-logs", "github/open-pr"}
    assert not grant.cannot
