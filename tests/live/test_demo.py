"""The first minute of a stranger: `./run_proxy.sh demo`."""

from __future__ import annotations

import subprocess

from live.gate import ROOT, environment

DEMO_SECONDS = 60.0  # the outcome of the issue: in under a minute, offline, once `.venv` is there


def test_the_demo_shows_everything_and_succeeds() -> None:
    run = subprocess.run(
        ["./run_proxy.sh", "demo"],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEMO_SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    for word in ("ALLOW", "DENY", "receipt"):
        assert word in run.stdout
