"""What every test may rely on: tools asked for by name (`needs`), and a count of what was skipped."""

from __future__ import annotations

import functools
import os
import subprocess

import pytest

# How a tool is asked whether it really runs: a shim on PATH may only print an error.
VERSION_ARGUMENT = {"go": "version", "java": "-version", "keytool": "-help"}


@functools.cache
def runs(tool: str) -> bool:
    """Whether `tool` is on PATH and answers when asked for its version."""
    command = [tool, VERSION_ARGUMENT.get(tool, "--version")]
    try:
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked `needs(tool, ...)` by the name of the first tool that is missing."""
    for marker in item.iter_markers("needs"):
        for tool in marker.args:
            if not runs(tool):
                pytest.skip(f"needs {tool}, which this machine lacks")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests were skipped, so that a green run cannot hide them."""
    terminalreporter.write_line(f"skipped: {len(terminalreporter.stats.get('skipped', []))}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With EFFECTGATE_NO_SKIP=1 (.ci/run) a skip is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("EFFECTGATE_NO_SKIP") == "1" and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
