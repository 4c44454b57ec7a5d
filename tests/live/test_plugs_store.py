"""The store's plugs, pulled one by one on a running `serve` under load: nothing leaves without a receipt, a reason, and service returns."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from live.gate import Agent, Gate, environment, serving, wait
from live.ledger import Pair, ledger_gate
from live.load import ASKS, loaded, never_closed, serves, unreceipted
from origin.certificates import Authority
from origin.server import Origins

DATABASE = "receipts.db"
AGENT = Agent("reader", ["ledger/read-items"])


class DiskGate(Gate):
    """A gate whose state lies on a disk of its own.

    Files on it are reached through /proc (proc_pid_root(5)); SQLite resolves that away, so it is run in the namespace.
    """

    program = (str(Path(__file__).with_name("mounted_serve.py")),)

    @property
    def disk(self) -> Path:
        """The state directory as the process has it mounted."""
        assert self.process is not None
        return Path(f"/proc/{self.process.pid}/root{self.state}")

    def inside(self, *command: str, **more: Any) -> subprocess.Popen[str]:
        """Start a command in the namespace of the process."""
        assert self.process is not None
        user = () if os.geteuid() == 0 else ("-U", "--preserve-credentials")
        enter = ["nsenter", "-t", str(self.process.pid), *user, "-m", *command]
        return subprocess.Popen(enter, text=True, stdout=subprocess.PIPE, env=environment(), **more)

    def told(self, *command: str) -> str:
        """Run a command there to its end; what it printed."""
        with self.inside(*command) as running:
            printed, _ = running.communicate(timeout=20)
        assert running.returncode == 0, printed
        return printed

    def sql(self, program: str) -> str:
        """Run a few lines of Python there, with `store` an open connection."""
        opened = f"import sqlite3; store = sqlite3.connect({str(self.state / DATABASE)!r}, isolation_level=None)\n"
        return self.told(sys.executable, "-c", opened + program)

    def receipts(self) -> list[dict[str, Any]]:
        """See Gate."""
        lines = self.sql("for row in store.execute('SELECT body FROM receipts ORDER BY seq'): print(row[0])")
        return list(map(json.loads, lines.splitlines()))


Plug = Callable[[DiskGate], AbstractContextManager[None]]


@contextlib.contextmanager
def full(gate: DiskGate) -> Iterator[None]:
    """Nothing can be written any more."""
    filler = gate.disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"\0" * 4096):
            pass
    try:
        yield
    finally:
        filler.unlink()


@contextlib.contextmanager
def read_only(gate: DiskGate) -> Iterator[None]:
    """Where the file was there is a copy on a disk that cannot be written; a kernel mounts one so after an I/O error."""
    state = str(gate.state)
    copy = gate.directory / "copy"
    shutil.copytree(gate.disk, copy)
    copy.chmod(0o700)
    gate.told("mount", "--bind", str(copy), str(copy))
    gate.told("mount", "-o", "remount,ro,bind", str(copy))
    gate.told("mount", "--bind", str(copy), state)
    try:
        yield
    finally:
        gate.told("umount", "--lazy", state)
        gate.told("umount", "--lazy", str(copy))
        shutil.rmtree(copy)


@contextlib.contextmanager
def locked(gate: DiskGate) -> Iterator[None]:
    """Another program holds the store for itself."""
    program = f"import sqlite3; s = sqlite3.connect({str(gate.state / DATABASE)!r}); s.execute('BEGIN EXCLUSIVE'); print(); input()"
    with gate.inside(sys.executable, "-c", program, stdin=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        try:
            yield
        finally:
            holder.communicate("\n", timeout=10)


@contextlib.contextmanager
def gone(gate: DiskGate) -> Iterator[None]:
    """Somebody moved the files away."""
    names = [name for name in os.listdir(gate.disk) if name.startswith(DATABASE)]
    away = gate.disk / "away"
    away.mkdir()
    for name in names:
        (gate.disk / name).rename(away / name)
    try:
        yield
    finally:
        _remove(gate)
        for name in names:
            (away / name).rename(gate.disk / name)
        away.rmdir()


@contextlib.contextmanager
def garbage(gate: DiskGate) -> Iterator[None]:
    """What lies in the place of the file is none of ours."""
    with gone(gate):
        (gate.disk / DATABASE).write_bytes(b"\xff" * 65536)
        yield


@contextlib.contextmanager
def older(gate: DiskGate) -> Iterator[None]:
    """Somebody put a backup in its place."""
    gate.sql(f"store.execute('VACUUM INTO ?', [{str(gate.state / 'backup.db')!r}])")
    before = len(gate.receipts())
    assert wait(lambda: len(gate.receipts()) > before), "the load left nothing behind the backup"
    with gone(gate):
        (gate.disk / "backup.db").rename(gate.disk / DATABASE)
        yield


def _remove(gate: DiskGate) -> None:
    for file in gate.disk.glob(f"{DATABASE}*"):
        file.unlink()


PLUGS: tuple[Plug, ...] = (full, read_only, locked, gone, garbage, older)


@pytest.fixture(scope="module")
def pair(origins: Origins) -> Pair:
    return Pair.open(origins)


def _may_mount() -> bool:
    user = () if os.geteuid() == 0 else ("-U", "-r")
    return subprocess.run(["unshare", *user, "-m", "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory, pair: Pair, authority: Authority) -> Iterator[DiskGate]:
    if not _may_mount():
        pytest.skip("needs a mount namespace (root, or unprivileged user namespaces), which this machine refuses")
    gate = ledger_gate(DiskGate, tmp_path_factory.mktemp("disk"), [AGENT], pair, authority)
    gate.state.mkdir(mode=0o700)
    with serving(gate, EFFECTGATE_TEST_DISK=str(gate.state)):
        yield gate


@pytest.mark.parametrize("pull", PLUGS, ids=lambda pull: pull.__name__)
def test_a_store_that_fails_refuses_with_a_reason_and_service_returns(gate: DiskGate, pair: Pair, pull: Plug) -> None:
    door = gate.door(AGENT)
    with loaded(door) as load:
        assert wait(lambda: len(load.answers) > 10)
        with pull(gate):
            assert wait(lambda: load.refused() == set(ASKS), 20), "the plug is pulled and nobody noticed"
        assert serves(gate, door)
    assert load.unexplained() == []
    assert {answer.status for answer in load.answers} <= {200, 503}
    assert "PDP_ERROR" in next(answer.told for answer in load.answers if answer.status == 503)
    assert unreceipted(gate, pair) == set()
    assert wait(lambda: never_closed(gate) == 0), "an ALLOW was never closed"
    gate.told(sys.executable, "-m", "effectgate", "receipts", "verify", "--config", str(gate.config))


def test_a_store_that_is_slow_is_waited_for(gate: DiskGate) -> None:
    door = gate.door(AGENT)
    with loaded(door) as load:
        assert wait(lambda: len(load.answers) > 3)
        for _ in range(3):
            with locked(gate):
                before = len(load.answers)
                assert not wait(lambda before=before: len(load.answers) > before + len(ASKS), 0.5)
    assert {answer.status for answer in load.answers} == {200}
