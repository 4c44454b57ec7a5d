"""Real clients through a real gate: what is granted arrives, and a refusal can be read by the one it was for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from live.gate import ROOT, Agent, Gate, environment, serving
from live.ledger import DATA
from origin.certificates import Authority
from origin.githost import GitHost
from origin.journal import Reply, Seen
from origin.plays import by_host
from origin.registries import NpmRegistry, PackageIndex
from origin.server import Origin, Origins

HOSTS = (
    "api.github.com",
    "github.com",
    "pypi.org",
    "files.pythonhosted.org",
    "registry.npmjs.org",
    "slack.com",
)
EFFECTS = (
    "github/read-ci-logs",
    "git/fetch",
    "web/package-registry-pypi",
    "web/package-registry-npm",
    "slack/read-channel",
)
RUNS = "https://api.github.com/repos/acme/web/actions/runs/7/logs"
PULLS = "https://api.github.com/repos/acme/web/pulls"
BUNDLES = ("CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "npm_config_cafile")
PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")


@dataclass(frozen=True, slots=True)
class Bench:
    """The gate, its one agent, and the origin that plays every host."""

    gate: Gate
    agent: Agent
    origin: Origin

    def by_hand(self, home: Path, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a client with the variables that a person would set."""
        door = self.gate.door(self.agent)
        known = dict.fromkeys(PROXIES, door.url) | dict.fromkeys(BUNDLES, str(door.ca))
        return self._run(home, command, known | {"NODE_EXTRA_CA_CERTS": str(door.ca)})

    def by_run(self, home: Path, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a client under `effectgate run`."""
        ours = [
            sys.executable,
            "-m",
            "effectgate",
            "run",
            "--config",
            str(self.gate.config),
            "--agent",
            self.agent.name,
        ]
        return self._run(home, [*ours, "--", *command], {})

    def _run(self, home: Path, command: Sequence[str], more: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        quiet = {
            "HOME": str(home),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
            "PIP_CONFIG_FILE": os.devnull,
        }
        return subprocess.run(
            list(command),
            cwd=home,
            env=environment(**quiet, **more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=45,
            check=False,
        )


Way = Callable[[Bench, Path, Sequence[str]], subprocess.CompletedProcess[str]]
WAYS = {"by hand": Bench.by_hand, "effectgate run": Bench.by_run}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, origins: Origins, authority: Authority) -> Iterator[Bench]:
    hosted = GitHost(tmp_path_factory.mktemp("github") / "root")
    hosted.create("acme/web.git")
    index = PackageIndex("small_wheel", "1.0")
    plays: dict[str, Callable[[Seen], Reply]] = {
        "github.com": hosted,
        "pypi.org": index.index,
        "files.pythonhosted.org": index.files,
        "registry.npmjs.org": NpmRegistry("@acme/tool", "plain-tool"),
    }
    origin = origins.open(by_host(plays))
    gate, agent = (
        Gate(tmp_path_factory.mktemp("clients"), packs=[ROOT / "effects", DATA / "packs"]),
        Agent("ci-fixer", EFFECTS),
    )
    answers = {f"{host}:443": origin.address for host in HOSTS}
    gate.configure([agent], network={"resolve": answers, "upstream_ca": str(authority.pem)})
    with serving(gate):
        yield Bench(gate, agent, origin)


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


@pytest.mark.needs("curl")
def test_curl_is_let_through_and_refused(bench: Bench, way: Way, tmp_path: Path) -> None:
    allowed = way(bench, tmp_path, ["curl", "-sS", RUNS])
    assert json.loads(allowed.stdout)["target"] == "/repos/acme/web/actions/runs/7/logs", allowed.stderr
    refused = way(
        bench, tmp_path, ["curl", "-sS", "-X", "POST", "-H", "Content-Type: application/json", "-d", "{}", PULLS]
    )
    assert json.loads(refused.stdout)["would_admit"][0]["effect"] == "github/open-pr", refused.stderr


@pytest.mark.needs("git")
def test_git_clones_and_reads_why_it_may_not_push(bench: Bench, way: Way, tmp_path: Path) -> None:
    clone = way(bench, tmp_path, ["git", "clone", "https://github.com/acme/web.git", "copy"])
    assert (tmp_path / "copy" / "README").is_file(), clone.stderr
    asked = len(bench.origin.journal.requests("github.com"))
    commit = [
        "git",
        "-C",
        "copy",
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "second",
    ]
    assert subprocess.run(commit, cwd=tmp_path, timeout=20, check=False).returncode == 0
    push = way(bench, tmp_path, ["git", "-C", "copy", "push", "origin", "HEAD:refs/heads/fix"])
    assert push.returncode != 0
    assert "remote: " in push.stderr
    assert "git/push-branch" in push.stderr
    assert len(bench.origin.journal.requests("github.com")) == asked


def test_pip_installs_a_wheel(bench: Bench, way: Way, tmp_path: Path) -> None:
    options = ["--no-cache-dir", "--disable-pip-version-check", "--index-url", "https://pypi.org/simple"]
    command = [sys.executable, "-m", "pip", "install", "--target", "site", *options, "small-wheel"]
    install = way(bench, tmp_path, command)
    assert (tmp_path / "site" / "small_wheel.py").read_text() == "VALUE = 42\n", install.stdout + install.stderr


@pytest.mark.needs("npm")
def test_npm_installs_a_scoped_and_an_unscoped_package(bench: Bench, way: Way, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "app", "version": "1.0.0"}')
    options = ["--registry", "https://registry.npmjs.org/", "--no-update-notifier", "--loglevel", "http"]
    install = way(bench, tmp_path, ["npm", "install", *options, "@acme/tool", "plain-tool"])
    assert (tmp_path / "node_modules" / "@acme" / "tool" / "index.js").is_file(), install.stdout + install.stderr
    assert (tmp_path / "node_modules" / "plain-tool" / "index.js").is_file()
    assert b"/@acme%2ftool" in [seen.target for seen in bench.origin.journal.requests("registry.npmjs.org")]


_AIOHTTP = """
import aiohttp, asyncio, os, ssl, sys
async def main():
    trust = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    async with aiohttp.ClientSession(trust_env=True) as session:
        async with session.post(sys.argv[1], json={}, ssl=trust) as answer:
            print(answer.status, await answer.text())
asyncio.run(main())
"""
_FETCH = """
fetch(process.argv[1], {method: "POST", headers: {"content-type": "application/json"}, body: "{}"})
  .then(async answer => console.log(answer.status, await answer.text()))
"""
_REQUESTS = "import requests, sys; r = requests.post(sys.argv[1], json={}); print(r.status_code, r.text)"
_HTTPX = "import httpx, sys; r = httpx.post(sys.argv[1], json={}); print(r.status_code, r.text)"
_URLLIB = """
import sys, urllib.request, urllib.error
try:
    urllib.request.urlopen(urllib.request.Request(sys.argv[1], b"{}", {"Content-Type": "application/json"}))
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""
SCRIPTS = {
    "requests": [sys.executable, "-c", _REQUESTS],
    "httpx": [sys.executable, "-c", _HTTPX],
    "urllib": [sys.executable, "-c", _URLLIB],
    "aiohttp": [sys.executable, "-c", _AIOHTTP],
}


def _refusal_is_read(ran: subprocess.CompletedProcess[str]) -> None:
    status, _, body = ran.stdout.partition(" ")
    assert status == "403", ran.stderr
    refusal = json.loads(body)
    assert refusal["reason_code"] == "INSUFFICIENT_PRIVILEGE"
    assert refusal["would_admit"][0]["effect"] == "github/open-pr"
    assert refusal["would_admit"][0]["where"] == {"owner": "acme", "repo": "web"}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_python_client_reads_its_refusal(bench: Bench, way: Way, tmp_path: Path, script: str) -> None:
    _refusal_is_read(way(bench, tmp_path, [*SCRIPTS[script], PULLS]))


@pytest.mark.needs("node")
def test_node_fetch_reads_its_refusal(bench: Bench, tmp_path: Path) -> None:
    _refusal_is_read(bench.by_run(tmp_path, ["node", "-e", _FETCH, PULLS]))


@pytest.mark.needs("curl")
def test_slack_is_read_and_not_written(bench: Bench, way: Way, tmp_path: Path) -> None:
    allowed = way(bench, tmp_path, ["curl", "-sS", "https://slack.com/api/conversations.history?channel=C1"])
    assert json.loads(allowed.stdout)["host"] == "slack.com", allowed.stderr
    refused = way(bench, tmp_path, ["curl", "-sS", "-d", "channel=C1&text=x", "https://slack.com/api/chat.postMessage"])
    assert json.loads(refused.stdout)["would_admit"][0]["effect"] == "slack/post-message", refused.stderr
