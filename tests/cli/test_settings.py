"""`effectgate config show`, `version`, `doctor`, and what no command may cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Command
from effectgate import __version__


def test_every_setting_is_shown_with_where_it_came_from(effectgate: Command, installation: Path) -> None:
    (installation / "effectgate.yaml").write_text("listen: 127.0.0.1:9\n")
    shown = json.loads(effectgate("config", "show", "--json").out)
    assert shown["settings"]["listen"]["value"] == "127.0.0.1:9"
    assert shown["settings"]["listen"]["from"].endswith("effectgate.yaml:1")
    assert shown["settings"]["metrics"]["from"] == "default"
    assert "127.0.0.1:9464" in effectgate("config", "show").out


def test_every_fault_of_the_settings_is_a_line_of_its_own(effectgate: Command, installation: Path) -> None:
    (installation / "effectgate.yaml").write_text("listn: x\nworkers: 2\n")
    ran = effectgate("config", "show")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 2


def test_the_version(effectgate: Command) -> None:
    assert effectgate("version").out == f"effectgate {__version__}\n"
    assert json.loads(effectgate("version", "--json").out) == {"version": __version__}


def test_the_doctor_finds_what_is_wrong(effectgate: Command, installation: Path) -> None:
    (installation / "effectgate.yaml").write_text(
        "listen: 127.0.0.1:0\napi: {http: '127.0.0.1:0'}\nmetrics: 127.0.0.1:0\n"
    )
    healthy = effectgate("doctor")
    assert healthy.code == 0, healthy.out
    effectgate("token", "new", "ci-fixer")
    (installation / "var" / "receipts.db").chmod(0o644)
    (installation / "grants.yaml").write_text("version: 2\n")
    findings = json.loads(effectgate("doctor", "--json").out)
    problems = {finding["subject"] for finding in findings if finding["level"] == "problem"}
    assert problems == {"state", "grants"}
    assert all(finding["fix"] for finding in findings if finding["level"] != "ok")
    assert effectgate("doctor").code == 1


@pytest.mark.parametrize("command", [("config", "show"), ("doctor",), ("grant", "check"), ("token", "new", "x")])
@pytest.mark.parametrize("odd", ['"a\\0b"', '""', '"~nobody-of-this-name/x"', '"a\\eb"'])
def test_an_odd_path_is_a_fault_of_its_line(
    effectgate: Command, installation: Path, command: tuple[str, ...], odd: str
) -> None:
    (installation / "effectgate.yaml").write_text(f"# paths\nstate: {odd}\n")
    ran = effectgate(*command)
    assert ran.code == (1 if command == ("doctor",) else 2)
    assert "effectgate.yaml:2" in ran.out + ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ["effectgate.yaml", "grants.yaml", "effects/notes.toml"])
@pytest.mark.parametrize("command", [("grant", "check"), ("doctor",)])
def test_a_pipe_in_the_place_of_a_file_is_told_and_not_waited_for(
    effectgate: Command, installation: Path, name: str, command: tuple[str, ...]
) -> None:
    (installation / name).unlink()
    os.mkfifo(installation / name)
    ran = effectgate(*command)
    assert name in ran.out + ran.err
    assert ran.code in (1, 2)


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import effectgate.cli", ("pydantic", "rich", "yaml", "mitmproxy", "cryptography", "fastapi", "sqlite3")),
        ("import effectgate.config", ("rich", "mitmproxy", "cryptography", "fastapi", "sqlite3")),
        ("import effectgate.app.reading", ("rich", "mitmproxy", "fastapi", "sqlite3", "effectgate.packs_io")),
    ],
)
def test_a_command_imports_only_what_it_needs(statement: str, heavy: tuple[str, ...]) -> None:
    check = f"import sys; {statement}; print([name for name in {heavy!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True, env=_environment())
    assert ran.stdout == "[]\n"


def _environment() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parents[2] / "addons"), "PATH": "/usr/bin:/bin"}
