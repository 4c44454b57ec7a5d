"""`./run_proxy.sh`: which interpreter it takes, and what it says where there is none."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOOD = "#!/bin/sh\necho True\n"
OLD = "#!/bin/sh\necho False\n"
SHIM = "#!/bin/sh\necho 'pyenv: python3.13: command not found' >&2\nexit 127\n"


def find_python(home: Path, programs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Ask for the interpreter on a machine that has these programs (paths under its home) and nothing else."""
    for name, text in programs.items():
        program = home / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    script = f"source {ROOT / 'run_proxy.sh'}; PATH={home / 'bin'}; find_python"
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize(
    ("programs", "chosen"),
    [
        ({"bin/python3.13": GOOD, "bin/python3.12": GOOD}, "python3.13"),
        ({"bin/python3.13": SHIM, "bin/python3.12": GOOD}, "python3.12"),
        ({"bin/python3.13": SHIM, "bin/python3.12": SHIM, "bin/python3": GOOD}, "python3"),
        ({"bin/python3": OLD, ".pyenv/versions/3.12.1/bin/python": GOOD}, ".pyenv/versions/3.12.1/bin/python"),
        ({"bin/pyenv": "#!/bin/sh\necho $HOME/elsewhere\n", "elsewhere/versions/3.13.0/bin/python": GOOD},
         "elsewhere/versions/3.13.0/bin/python"),
        ({"bin/uv": "#!/bin/sh\necho $HOME/managed/python\n", "managed/python": GOOD}, "managed/python"),
    ],
)  # fmt: skip
def test_the_first_that_reports_a_supported_version_is_taken(
    tmp_path: Path, programs: dict[str, str], chosen: str
) -> None:
    ran = find_python(tmp_path, programs)
    assert ran.returncode == 0
    assert ran.stdout.strip() in (chosen, str(tmp_path / chosen))


def test_without_any_one_line_says_the_fix(tmp_path: Path) -> None:
    ran = find_python(tmp_path, {"bin/python3": OLD})
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.count("\n") == 1
    assert "uv python install 3.13" in ran.stderr


def test_the_lock_names_no_index_and_hashes_everything() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "index" not in lock.lower()
    assert "://" not in lock
    for requirement in re.split(r"\n(?=[a-z0-9])", lock)[1:]:
        assert "==" in requirement
        assert "--hash=sha256:" in requirement
