"""`effectgate run`: each client that the design names really asks through the proxy, over TLS that it trusts.

Everything is refused here, so nothing leaves the machine: a receipt that has the request's path proves the rest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.gate import Agent, Gate, environment, serving

pytestmark = pytest.mark.timeout(180)

FETCH = 'fetch("https://registry.npmjs.org/KIND").then(async r => console.log(r.status, (await r.json()).verdict))'
NODE_GET = 'require("KIND").get("KIND://registry.npmjs.org/KIND", r => { r.resume(); console.log(r.statusCode, r.headers["x-effectgate-verdict"]); })'
JAVA = """
import java.net.HttpURLConnection;
import java.net.URI;

public class Ask {
    public static void main(String[] arguments) throws Exception {
        HttpURLConnection asked = (HttpURLConnection) new URI("https://repo1.maven.org/maven2/java").toURL().openConnection();
        System.out.println(asked.getResponseCode() + " " + asked.getHeaderField("X-Effectgate-Verdict"));
    }
}
"""

# client -> command, the host that it asks, what its output must show ("" where the client hides the answer)
CLIENTS: dict[str, tuple[list[str], str, str]] = {
    "curl": (["curl", "-sS", "https://crates.io/curl"], "crates.io", '"DENY"'),
    "git": (["git", "ls-remote", "https://gitlab.com/a/b.git"], "gitlab.com", "DENY"),
    "pip": ([sys.executable, "-m", "pip", "download", "--no-deps", "no-such-wheel"], "pypi.org", ""),
    "uv": (["uv", "pip", "install", "--dry-run", "--system", "no-such-wheel"], "pypi.org", ""),
    "npm": (["npm", "view", "no-such-package"], "registry.npmjs.org", "403"),
    "node": (["node", "-e", FETCH.replace("KIND", "fetch")], "registry.npmjs.org", "403 DENY"),
    "node http": (["node", "-e", NODE_GET.replace("KIND", "http")], "registry.npmjs.org", "403 DENY"),
    "node https": (["node", "-e", NODE_GET.replace("KIND", "https")], "registry.npmjs.org", "403 DENY"),
    "deno": (["deno", "eval", FETCH.replace("KIND", "deno")], "registry.npmjs.org", "403 DENY"),
    "cargo": (["cargo", "search", "no-such-crate"], "index.crates.io", "403"),
    "go": (["go", "list", "-m", "-versions", "rsc.io/quote"], "proxy.golang.org", "403"),
    "java": (["java", "Ask.java"], "repo1.maven.org", "403 DENY"),
    "aws": (["aws", "sts", "get-caller-identity", "--region", "us-east-1"], "sts.us-east-1.amazonaws.com", "DENY"),
}
TOOLS = {"pip": sys.executable}


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    gate = Gate(tmp_path_factory.mktemp("run"))
    gate.configure([Agent("ci-fixer", ["github/read-ci-logs"], "read-only")])
    with serving(gate):
        yield gate


def run(gate: Gate, home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as `effectgate run` does, in a home of its own."""
    ours = [sys.executable, "-m", "effectgate", "run", "--config", str(gate.config), "--", *command]
    kept = {"CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")), "RUSTUP_HOME": _rustup()}
    keys = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "x", "AWS_MAX_ATTEMPTS": "1"}
    quiet = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "0", "PIP_RETRIES": "0", "GIT_TERMINAL_PROMPT": "0"}
    more = {"HOME": str(home), "GOFLAGS": "-mod=mod", "PYENV_ROOT": _pyenv(), **kept, **keys, **quiet}
    return subprocess.run(
        ours, cwd=home, env=environment(**more), capture_output=True, text=True, timeout=90, check=False
    )


def _rustup() -> str:
    return os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))


def _pyenv() -> str:
    return os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))


@pytest.mark.parametrize(
    "client", [pytest.param(name, marks=pytest.mark.needs(TOOLS.get(name, name.split()[0]))) for name in CLIENTS]
)
def test_a_client_asks_through_the_proxy(gate: Gate, tmp_path: Path, client: str) -> None:
    command, host, shown = CLIENTS[client]
    (tmp_path / "Ask.java").write_text(JAVA)
    before = len(gate.receipts())
    ran = run(gate, tmp_path, *command)
    asked = [receipt["args"] for receipt in gate.receipts()[before:] if receipt["args"].get("host") == host]
    assert asked, ran.stdout + ran.stderr
    assert all(args["principal"] == "ci-fixer" and args["path"].startswith("/") for args in asked)
    assert shown in ran.stdout + ran.stderr


def test_the_exit_code_is_the_commands(gate: Gate, tmp_path: Path) -> None:
    assert run(gate, tmp_path, "sh", "-c", "exit 7").returncode == 7
    assert run(gate, tmp_path, "sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL
    missing = run(gate, tmp_path, "no-such-command")
    assert missing.returncode == 127
    assert missing.stderr == "effectgate: no-such-command: no such command; check its name and PATH\n"


def test_the_token_ends_with_the_command(gate: Gate, tmp_path: Path) -> None:
    url = run(gate, tmp_path, "sh", "-c", "echo $HTTPS_PROXY").stdout.strip()
    asked = ["curl", "-s", "-o", os.devnull, "-w", "%{http_connect}", "-x", url, "https://crates.io/"]
    assert subprocess.run(asked, capture_output=True, text=True, timeout=20, check=False).stdout == "407"


def test_a_command_keeps_its_own_options_and_loopback_is_direct(gate: Gate, tmp_path: Path) -> None:
    ran = run(gate, tmp_path, "sh", "-c", 'echo "$NO_PROXY" "$no_proxy" "$NODE_USE_ENV_PROXY"')
    assert ran.stdout == "localhost,127.0.0.1,::1 localhost,127.0.0.1,::1 1\n"


def test_sigterm_reaches_the_command(gate: Gate, tmp_path: Path) -> None:
    script = "trap 'echo ended; exit 3' TERM; echo started; while :; do sleep 0.1; done"
    ours = [sys.executable, "-m", "effectgate", "run", "--config", str(gate.config), "--", "sh", "-c", script]
    with subprocess.Popen(ours, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(0.1)
        process.terminate()
        assert process.stdout.read() == "ended\n"
        assert process.wait(20) == 3


def test_without_a_proxy_the_fix_is_told(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    gate.configure([Agent("ci-fixer", ["github/read-ci-logs"], "read-only")])
    ran = run(gate, tmp_path, "true")
    assert ran.returncode == 2
    assert ran.stderr.endswith("start ./run_proxy.sh first\n")
