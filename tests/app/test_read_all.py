"""One reading of all files tells the faults of all of them."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path

import pytest

from effectgate.app.reading import read_all
from effectgate.policy.fault import FaultsError

NOW = datetime(2026, 11, 30, tzinfo=UTC)
PACK = """[plugin]
name = "a"
version = 1
[[effect]]
id = "read"
title = "Read"
risk = "{risk}"
[effect.lowers]
operations = ["web_fetch"]
hosts = ["a.test"]
"""
CEILING = 'title = "Reads"\nmax_risk = "read"\n[operations]\nweb_fetch = "low_risk"\n'
AGENT = "agents:\n  - name: ci\n    effects: [a/read]\n"


def installation(place: Path, *, settings: str = "", risk: str = "read", grants: str = "version: 1\n") -> Path:
    """Settings, one pack and one grant below `place`; each keyword puts something else in."""
    (place / "effects" / "ceilings").mkdir(parents=True)
    (place / "effects" / "a.toml").write_text(PACK.format(risk=risk))
    (place / "effects" / "ceilings" / "read-only.toml").write_text(CEILING)
    (place / "grants.yaml").write_text(grants + AGENT)
    (place / "effectgate.yaml").write_text("packs: [effects]\n" + settings)
    return place / "effectgate.yaml"


def test_sound_files_are_read(tmp_path: Path) -> None:
    assert set(read_all(installation(tmp_path), NOW).grants) == {"ci"}


@pytest.mark.parametrize("settings", ["", "workers: 0\n"])
@pytest.mark.parametrize("risk", ["read", "harmless"])
@pytest.mark.parametrize("grants", ["version: 1\n", "version: 2\n"])
def test_faults_of_every_kind_of_file_are_told_together(tmp_path: Path, settings: str, risk: str, grants: str) -> None:
    wrong = {
        "effectgate.yaml": bool(settings),
        "a.toml": risk == "harmless",
        "grants.yaml": grants == "version: 2\n",
    }
    file = installation(tmp_path, settings=settings, risk=risk, grants=grants)
    if not any(wrong.values()):
        return
    with pytest.raises(FaultsError) as refused:
        read_all(file, NOW)
    assert {Path(fault.file).name for fault in refused.value.faults} == {name for name, bad in wrong.items() if bad}
    assert all(fault.line and fault.key and fault.fix for fault in refused.value.faults)


def test_settings_that_are_no_yaml_hide_nothing_beside_them(tmp_path: Path) -> None:
    file = installation(tmp_path, grants="version: 2\n")
    file.write_text("packs: [effects")
    with pytest.raises(FaultsError) as refused:
        read_all(file, NOW)
    assert {Path(fault.file).name for fault in refused.value.faults} == {"effectgate.yaml", "grants.yaml"}


def test_a_reload_reads_the_settings_of_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that somebody puts where the search looks first changes nothing while the service runs."""
    former = read_all(installation(tmp_path / "ours"), NOW)
    (tmp_path / "planted").mkdir()
    monkeypatch.chdir(tmp_path / "planted")
    Path("effectgate.yaml").write_text("grants: /dev/null\n")
    assert read_all(None, NOW, former).settings.file == tmp_path / "ours" / "effectgate.yaml"


def test_a_start_without_settings_is_reloaded_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = read_all(installation(tmp_path), NOW)
    former = dataclasses.replace(ours, settings=dataclasses.replace(ours.settings, file=None))
    monkeypatch.chdir(tmp_path)
    Path("effectgate.yaml").write_text("grants: /dev/null\n")
    assert read_all(None, NOW, former).settings is former.settings
