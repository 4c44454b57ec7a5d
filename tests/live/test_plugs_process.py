"""The process's own plugs: descriptors, signals, reloads, a clock that is set, a kill; under load, with the same three columns."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from live.ask import Request, tls_1
from live.gate import Agent, Gate, effectgate, serving, wait
from live.ledger import Pair, ledger_gate
from live.load import fresh_get, loaded, never_closed, serves, unreceipted
from live.wire import exchange, websocket_through
from origin.certificates import Authority
from origin.journal import Reply, Seen
from origin.server import Origins

AGENT = Agent("reader", ["ledger/read-items", "ledger/write-item"])
DESCRIPTORS = 128
DRAIN_SECONDS = 10  # docs/operations.md


class SlowOrigin:
    """Echoes; a path with `slow` in it takes as long as `seconds` says."""

    def __init__(self) -> None:
        self.seconds = 1.0

    def __call__(self, seen: Seen) -> Reply:
        if b"slow" in seen.target:
            time.sleep(self.seconds)
        return Reply(body=b"{}")


@pytest.fixture(scope="module")
def slow() -> SlowOrigin:
    return SlowOrigin()


@pytest.fixture(scope="module")
def pair(origins: Origins, slow: SlowOrigin) -> Pair:
    return Pair.open(origins, slow)


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory, pair: Pair, authority: Authority) -> Iterator[Gate]:
    gate = ledger_gate(Gate, tmp_path_factory.mktemp("process"), [AGENT], pair, authority)
    with serving(gate):
        yield gate


@pytest.fixture(autouse=True)
def _columns(gate: Gate, pair: Pair) -> Iterator[None]:
    """After every plug: nothing unreceipted, every ALLOW closed, and it serves."""
    yield
    if not gate.running:
        gate.start()
    assert serves(gate, gate.door(AGENT))
    assert unreceipted(gate, pair) == set()


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _descriptors(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))


def test_descriptors_used_up(gate: Gate) -> None:
    """Connections beyond them wait in the kernel; accepting must not turn round and round, and others are served again at once."""
    assert gate.process is not None
    pid = gate.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, before[1]))
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(DESCRIPTORS + 20):
                stack.enter_context(socket.create_connection(("127.0.0.1", gate.port), 5))
            assert wait(lambda: _descriptors(pid) >= DESCRIPTORS - 2)
            used = _cpu_seconds(pid)
            time.sleep(1.5)
            assert _cpu_seconds(pid) - used < 0.5, "it spins"
        assert serves(gate, gate.door(AGENT))
        assert wait(lambda: _descriptors(pid) < DESCRIPTORS - 20)
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def test_a_storm_of_reloads_with_bad_files_under_load(gate: Gate) -> None:
    assert gate.process is not None
    good = gate.grants.read_text()
    with loaded(gate.door(AGENT)) as load:
        for turn in range(12):
            gate.grants.write_text(good if turn % 2 else good + "broken: [")
            for _ in range(5):
                gate.process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
        gate.grants.write_text(good + "broken: [")
        assert wait(lambda: gate.metric("effectgate_reload_last_successful") == 0, 10)
        gate.grants.write_text(good)
        assert wait(lambda: gate.metric("effectgate_reload_last_successful") == 1, 10)
    assert {answer.status for answer in load.answers} == {200}


def _in_flight(gate: Gate, statuses: list[int]) -> threading.Thread:
    """A request that the origin takes its time over."""

    def ask() -> None:
        with contextlib.suppress(OSError):
            statuses.append(tls_1(gate.door(AGENT), Request("GET", "https://api.ledger.test/items/slow")).status)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return thread


def _arrived(pair: Pair) -> int:
    return sum(b"slow" in seen.target for seen in pair.requests())


def test_sigterm_drains(gate: Gate, pair: Pair, slow: SlowOrigin) -> None:
    """What is in flight ends, nobody new is let in, kept connections are told, and every completion is on disk."""
    slow.seconds = 1.5
    statuses: list[int] = []
    already = _arrived(pair)
    with closing(gate.door(AGENT).secure("api.ledger.test:443")) as kept:
        assert exchange(kept, fresh_get().origin_form).status == 200
        asking = _in_flight(gate, statuses)
        assert wait(lambda: _arrived(pair) > already)
        assert gate.process is not None
        gate.process.send_signal(signal.SIGTERM)
        assert wait(lambda: not _accepts(gate.port))
        late = exchange(kept, fresh_get().origin_form)
        assert (late.status, late.json["reason_code"]) == (503, "PDP_ERROR")
        assert "stopping" in late.json["reason"]
    asking.join(10)
    assert gate.process.wait(15) == 0
    assert statuses == [200]
    assert never_closed(gate) == 0
    assert effectgate("receipts", "verify", "--config", str(gate.config)).returncode == 0


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def test_a_second_sigterm_waits_for_nobody(gate: Gate, pair: Pair, slow: SlowOrigin) -> None:
    """Not for an origin that takes its time, and not for a websocket, which would never end."""
    slow.seconds = 8.0
    already = _arrived(pair)
    with websocket_through(gate.door(AGENT), "api.ledger.test", "/items/socket") as messages:
        messages.send("hello")
        assert messages.recv(timeout=5) == "hello"
        asking = _in_flight(gate, [])
        assert wait(lambda: _arrived(pair) > already)
        assert gate.process is not None
        begun = time.monotonic()
        gate.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        gate.process.send_signal(signal.SIGTERM)
        assert gate.process.wait(15) == 0
        assert time.monotonic() - begun < DRAIN_SECONDS - 2
    assert never_closed(gate) == 0
    asking.join(10)


def test_a_kill_in_the_middle_of_everything(gate: Gate, pair: Pair, slow: SlowOrigin) -> None:
    """A download, a websocket, HTTP/1 and HTTP/2 at once; the chain is whole after it and goes on."""
    slow.seconds = 8.0
    already = _arrived(pair)
    asking = _in_flight(gate, [])
    with contextlib.suppress(Exception), websocket_through(gate.door(AGENT), "api.ledger.test", "/items/s") as messages:
        messages.send("hello")
        with loaded(gate.door(AGENT)) as load:
            assert wait(lambda: len(load.answers) > 10 and _arrived(pair) > already)
            gate.stop(signal.SIGKILL)
    asking.join(10)
    verified = effectgate("receipts", "verify", "--config", str(gate.config))
    assert verified.returncode == 0, verified.stdout
    gate.start()
    assert serves(gate, gate.door(AGENT))
    assert effectgate("receipts", "verify", "--config", str(gate.config)).returncode == 0
