"""The import contracts of pyproject.toml (design.md section 10) hold every module: a new one must be given its room."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "addons" / "effectgate"
# What wires and what prints may import anything that the other contracts do not forbid them.
FREE = {"effectgate.app", "effectgate.cli"}


def test_the_contracts_are_kept() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    environment = {"PYTHONPATH": str(ROOT / "addons"), "PATH": "/usr/bin:/bin", "TERM": "dumb"}
    ran = subprocess.run([linter, "--no-cache"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_every_module_has_a_room() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    placed = {module for contract in contracts for module in contract["source_modules"]}
    modules = {
        f"effectgate.{path.stem}"
        for path in PACKAGE.iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").is_file()) and not path.name.startswith("__")
    }
    assert modules - placed - FREE == set()
