"""A small installation, and commands run in this process: starting an interpreter for each would cost minutes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from effectgate.cli import main

PACK = """
[plugin]
name = "notes"
version = 1

[[effect]]
id = "read"
title = "Read notes"
risk = "read"
[effect.lowers]
operations = ["web_fetch"]
sinks = ["http_egress"]
hosts = ["notes.example.com"]
[effect.matches]
http = [{ method = "GET", host = "notes.example.com", path = "/v1/{book}/notes" }]

[[effect]]
id = "write"
title = "Write a note"
risk = "publish"
[effect.lowers]
operations = ["web_fetch"]
sinks = ["http_egress"]
hosts = ["notes.example.com"]
[effect.matches]
http = [{ method = "POST", host = "notes.example.com", path = "/v1/{book}/notes" }]

[[example]]
grant = ["notes/read"]
request = "GET https://notes.example.com/v1/b/notes"
expect = "allow"
effect = "notes/read"

[[example]]
grant = ["notes/read"]
request = "POST https://notes.example.com/v1/b/notes"
expect = "deny"
effect = "notes/write"
"""
CEILING = """
title = "Only reading"
max_risk = "read"
[operations]
web_fetch = "low_risk"
"""
GRANTS = """
version: 1
agents:
  - name: ci-fixer
    token: "sha256:{hash}"
    effects:
      - {{effect: notes/read, where: {{book: mine}}}}
      - notes/write
    limits: {{requests: 5, per: day}}
    expires: 2099-01-01T00:00:00Z
    escalation: ask
"""
WRITTEN_HASH = "a" * 64


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Command = Callable[..., Ran]


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory we stand in: effectgate.yaml, grants.yaml, one pack, one ceiling."""
    (tmp_path / "effects" / "ceilings").mkdir(parents=True)
    (tmp_path / "effects" / "notes.toml").write_text(PACK)
    (tmp_path / "effects" / "ceilings" / "read-only.toml").write_text(CEILING)
    (tmp_path / "effectgate.yaml").write_text("")
    (tmp_path / "grants.yaml").write_text(GRANTS.format(hash=WRITTEN_HASH))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("EFFECTGATE_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def effectgate(installation: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run one command in the installation."""

    def run(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "argv", ["effectgate", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, out, err)

    return run
