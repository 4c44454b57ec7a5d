"""Running commands under `effectgate run`, as root and as somebody without any privilege."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from live.gate import Agent, Gate, environment

AGENT = Agent("ci-fixer", ["ledger/read-items", "git/fetch"])
SECONDS = 60
# A user namespace with one user in it: the same user outside, without a single capability there; or root of that namespace.
_NOBODY = ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--"]
_ROOT = ["unshare", "--user", "--map-root-user", "--"]
USERS: Mapping[str, Sequence[str]] = (
    {"root": [], "unprivileged": _NOBODY} if os.geteuid() == 0 else {"root": _ROOT, "unprivileged": []}
)
PROBES = Path(__file__).with_name("probes.py")


@dataclass(frozen=True, slots=True)
class House:
    """A gate that serves, and the directory where commands work."""

    gate: Gate
    cwd: Path

    def command(self, user: str, *options: str) -> list[str]:
        """`effectgate run` as `user`, up to the command."""
        ours = [sys.executable, "-m", "effectgate", "run", "--config", str(self.gate.config), *options, "--"]
        return [*USERS[user], *ours]

    def run(
        self, user: str, command: Sequence[str], *options: str, cwd: Path | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end."""
        return subprocess.run(
            [*self.command(user, *options), *command],
            cwd=cwd or self.cwd,
            env=environment(HOME=str(self.cwd), GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0", **more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def probe(self, user: str, task: Mapping[str, Any], *options: str, cwd: Path | None = None) -> dict[str, str]:
        """Try everything of `task` inside (see probes.py); what came of each."""
        ran = self.run(user, [sys.executable, str(PROBES), json.dumps(task)], *options, cwd=cwd)
        assert ran.returncode == 0, ran.stderr
        answers: dict[str, str] = json.loads(ran.stdout)
        return answers


def probe_outside(task: Mapping[str, Any]) -> dict[str, str]:
    """The same without a cell: shows that each of them would get through."""
    command = [sys.executable, str(PROBES), json.dumps(task)]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=True)
    answers: dict[str, str] = json.loads(ran.stdout)
    return answers
