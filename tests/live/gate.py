"""A real `effectgate serve` in a directory of its own."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import yaml
from prometheus_client.parser import text_string_to_metric_families

from live.wire import Door

ROOT = Path(__file__).parents[2]
READY_SECONDS = 60.0  # design.md section 7 says 8; the machine that tests may be busy with others
STOP_SECONDS = 15.0  # 10 of them are what requests in flight may take
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class Agent:
    """One entry of grants.yaml, and the token that belongs to it."""

    name: str
    effects: Sequence[str | Mapping[str, object]]
    ceiling: str = "live-tests"
    more: Mapping[str, object] = field(default_factory=dict)  # expires, limits, escalation
    token: str = field(default_factory=lambda: secrets.token_hex(32))

    @property
    def entry(self) -> dict[str, object]:
        """As grants.yaml writes it."""
        digest = "sha256:" + hashlib.sha256(self.token.encode()).hexdigest()
        return {"name": self.name, "token": digest, "ceiling": self.ceiling, "effects": list(self.effects), **self.more}


def environment(**more: str) -> dict[str, str]:
    """This process's environment without its proxy settings, with our packages on the path."""
    kept = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    ours = {"PYTHONPATH": str(ROOT / "addons"), "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
    return {**kept, **ours, **more}


def effectgate(
    *arguments: str, stdin: str | None = None, cwd: Path = ROOT, seconds: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run one command of the product to its end, in at most so many seconds."""
    command = [sys.executable, "-m", "effectgate", *arguments]
    return subprocess.run(
        command, input=stdin, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=seconds, check=False
    )


class Gate:
    """The files of one installation and the process that serves it."""

    program: Sequence[str] = ("-m", "effectgate")
    prefix: Sequence[str] = ()  # what runs the interpreter

    def __init__(self, directory: Path, *, packs: Sequence[Path] = (ROOT / "effects",)) -> None:
        self.directory = directory
        self.config = directory / "effectgate.yaml"
        self.grants = directory / "grants.yaml"
        self.state = directory / "var"
        self.ca = directory / "certs" / "ca.pem"
        self.port, self._api, self._metrics, self._grpc = _free_ports(4)
        self.settings: dict[str, Any] = {
            "listen": f"127.0.0.1:{self.port}",
            "api": {"http": f"127.0.0.1:{self._api}", "grpc": f"127.0.0.1:{self._grpc}"},
            "metrics": f"127.0.0.1:{self._metrics}",
            "packs": [str(pack) for pack in packs],
            "grants": "grants.yaml",
            "state": "var",
            "certs": "certs",
        }
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def ports(self) -> tuple[int, ...]:
        """Where it listens: proxy, API, metrics, gRPC."""
        return self.port, self._api, self._metrics, self._grpc

    def configure(self, agents: Sequence[Agent], **settings: object) -> None:
        """Write both files."""
        self.settings.update(settings)
        self.config.write_text(yaml.safe_dump(self.settings))
        self.grant(agents)

    def grant(self, agents: Sequence[Agent]) -> None:
        """Write grants.yaml whole and put it in place at once."""
        draft = self.directory / "grants.yaml.new"
        draft.write_text(yaml.safe_dump({"version": 1, "agents": [agent.entry for agent in agents]}))
        draft.replace(self.grants)

    def door(self, agent: Agent) -> Door:
        """How `agent` reaches this proxy."""
        return Door(self.port, agent.name, agent.token, self.ca)

    def start(self, **more: str) -> None:
        """Start the process and wait for /readyz."""
        with (self.directory / "serve.log").open("ab") as log:
            command = [*self.prefix, sys.executable, *self.program, "serve", "--config", str(self.config)]
            self.process = subprocess.Popen(
                command, cwd=self.directory, env=environment(**more), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait for /readyz; raises with the log if the process ends first or takes too long."""
        wait(lambda: not self.running or self.status("/readyz") == 200, READY_SECONDS)
        if self.status("/readyz") != 200:
            raise AssertionError(f"serve {'is not ready' if self.running else 'ended'}:\n{self.log()[-4000:]}")

    @property
    def running(self) -> bool:
        """Whether the process has been started and has not ended."""
        return self.process is not None and self.process.poll() is None

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End the process by its id; one that does not end is made to say where it stands."""
        if self.process is None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait(5)
            raise AssertionError(f"serve did not stop:\n{self.log()[-4000:]}") from None

    def log(self) -> str:
        """Everything the process has printed."""
        return (self.directory / "serve.log").read_text(errors="replace")

    def status(self, path: str) -> int:
        """The status of a GET on the API, 0 where nothing listens."""
        try:
            with _NO_PROXY.open(f"http://127.0.0.1:{self._api}{path}", timeout=5) as answer:
                return int(answer.status)
        except HTTPError as error:
            with error:
                return error.code
        except OSError:
            return 0

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the samples called `name` that carry `labels`."""
        return sum(
            sample.value
            for family in text_string_to_metric_families(self.metrics_page())
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def metrics_page(self) -> str:
        """/metrics as text."""
        with _NO_PROXY.open(f"http://127.0.0.1:{self._metrics}/metrics", timeout=5) as answer:
            return str(answer.read().decode())

    def receipts(self) -> list[dict[str, Any]]:
        """Every receipt on disk, in order, read as a stranger would: from the SQLite file."""
        return [record for file in self.stores() for record in read_receipts(file)]

    def stores(self) -> list[Path]:
        """The SQLite files of the state directory that hold receipts."""
        return [file for file in sorted(self.state.rglob("*")) if file.is_file() and _has_receipts(file)]


def read_receipts(file: Path) -> list[dict[str, Any]]:
    """The bodies of table `receipts` (design.md section 5)."""
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)) as store:
        return [json.loads(body) for (body,) in store.execute("SELECT body FROM receipts ORDER BY seq")]


def _has_receipts(file: Path) -> bool:
    with file.open("rb") as opened:
        if opened.read(16) != b"SQLite format 3\x00":
            return False
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)) as store:
        return store.execute("SELECT 1 FROM sqlite_master WHERE name = 'receipts'").fetchone() is not None


def wait(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether `condition` came true within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(one.getsockname()[1]) for one in held]


@contextlib.contextmanager
def serving[G: Gate](gate: G, **more: str) -> Iterator[G]:
    """Start `gate` with `more` in its environment, and stop it whatever happens."""
    try:
        gate.start(**more)
        yield gate
    finally:
        if gate.running:
            gate.stop()
