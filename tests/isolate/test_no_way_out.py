"""From inside a cell nothing but the proxy can be reached; counted at listeners outside, which are shown to hear everybody else."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from isolate.cells import USERS, House, probe_outside
from live.gate import environment

pytestmark = pytest.mark.timeout(180)

NOWHERE = ("192.0.2.77", "198.51.100.7", "8.8.8.8", "2001:db8::7")
METADATA = ("169.254.169.254", "fd00:ec2::254", "100.100.100.200")
UNREACHABLE = {"ENETUNREACH", "ECONNREFUSED", "EADDRNOTAVAIL"}
ALG_KIND, VSOCK, BLUETOOTH = 5, 40, 31


def own_addresses() -> list[str]:
    """The addresses of this machine that a route would lead from: connecting a datagram socket sends nothing."""
    found = []
    for family, other in ((socket.AF_INET, "192.0.2.77"), (socket.AF_INET6, "2001:db8::7")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((other, 9))
            found.append(str(sock.getsockname()[0]))
    return found


@dataclass(frozen=True)
class Ears:
    """Listeners of every kind outside; nothing is ever accepted, so that what came can be counted."""

    streams: dict[str, socket.socket]
    datagrams: dict[str, socket.socket]

    def heard(self) -> dict[str, int]:
        """Connections and datagrams that came since the last question, where there were any."""
        counts = {name: _count(sock, _accept) for name, sock in self.streams.items()}
        counts |= {name: _count(sock, _receive) for name, sock in self.datagrams.items()}
        return {name: count for name, count in counts.items() if count}

    def task(self) -> dict[str, list[Any]]:
        """A probe at each."""
        task: dict[str, list[Any]] = {}
        for name, sock in self.streams.items():
            address = sock.getsockname()
            if sock.family == socket.AF_UNIX:
                path = address if isinstance(address, str) else "@" + address[1:].decode()
                task[name] = ["unix", path]
            else:
                task[name] = ["tcp", *address[:2]]
        return task | {name: ["udp", *sock.getsockname()[:2]] for name, sock in self.datagrams.items()}


def _count(sock: socket.socket, take: Any) -> int:
    count = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            take(sock)
            count += 1
    return count


def _accept(sock: socket.socket) -> None:
    sock.accept()[0].close()


def _receive(sock: socket.socket) -> None:
    sock.recv(2048)


@pytest.fixture(scope="module")
def ears(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ears]:
    with contextlib.ExitStack() as stack:
        streams, datagrams = dict[str, socket.socket](), dict[str, socket.socket]()
        for host in ("127.0.0.1", "::1", *own_addresses()):
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            streams[f"tcp {host}"] = socket.create_server((host, 0), family=family)
            datagrams[f"udp {host}"] = socket.socket(family, socket.SOCK_DGRAM)
            datagrams[f"udp {host}"].bind((host, 0))
        path = tmp_path_factory.mktemp("socket") / "daemon"
        for name, address in (("abstract", f"\0effectgate-{os.getpid()}"), ("path", str(path))):
            streams[name] = socket.socket(socket.AF_UNIX)
            streams[name].bind(address)
            streams[name].listen()
        for sock in (*streams.values(), *datagrams.values()):
            stack.enter_context(sock)
            sock.setblocking(False)
        yield Ears(streams, datagrams)


@pytest.fixture(scope="module", params=list(USERS))
def tried(request: pytest.FixtureRequest, house: House, ears: Ears) -> dict[str, str]:
    """What came of every probe inside."""
    gate = house.gate
    task = ears.task()
    assert probe_outside(task) == dict.fromkeys(task, "done")
    assert set(ears.heard()) == set(task)
    task |= {f"tcp {host}": ["tcp", host, 443] for host in (*NOWHERE, *METADATA)}
    task |= {f"quic {host}": ["udp", host, 443] for host in NOWHERE}
    task |= {f"dns {host}": ["udp", host, 53] for host in (*NOWHERE, "127.0.0.53")}
    task |= {f"port {port}": ["tcp", "127.0.0.1", port] for port in (gate._api, gate._metrics, gate._grpc)}
    task |= {"resolver": ["resolve", "example.com"], "internal": ["resolve", "effectgate.internal"]}
    task |= {"raw": ["family", socket.AF_INET, socket.SOCK_RAW], "packet": ["family", 17, socket.SOCK_RAW]}
    task |= {"vsock": ["family", VSOCK, socket.SOCK_STREAM], "bluetooth": ["family", BLUETOOTH, socket.SOCK_RAW]}
    task |= {"io_uring": ["system_call", 425, 8, 0], "key": ["request_key"], "typing": ["type_into_terminal"]}
    task |= {"own raw": ["raw_in_own_network", socket.IPPROTO_ICMP], "door": ["tcp", "127.0.0.1", gate.port]}
    assert gate.process is not None
    task |= {"signal": ["signal_process", gate.process.pid], "memory": ["read", f"/proc/{gate.process.pid}/mem"]}
    task |= {"first memory": ["read", "/proc/1/mem"], "first environment": ["read", "/proc/1/environ"]}
    task |= {"join": ["join", "/proc/1/ns/net"], "descriptor": ["descriptor", 9]}
    return house.probe(request.param, task, "--isolate")


def test_nothing_is_heard_outside(tried: dict[str, str], ears: Ears) -> None:
    assert ears.heard() == {}
    for name in ears.task():
        expected = {"EACCES"} if name == "path" else {"done", *UNREACHABLE} if name.startswith("udp") else UNREACHABLE
        assert tried[name] in expected, name


def test_no_address_is_reachable(tried: dict[str, str]) -> None:
    """A datagram to the cell's own 127.0.0.53 is sent, and nobody is there."""
    kinds = ("tcp ", "quic ", "dns ")
    far = {name: came for name, came in tried.items() if name.startswith(kinds) and "127.0.0" not in name}
    assert len(far) >= 15
    assert {name: came for name, came in far.items() if came not in UNREACHABLE} == {}


def test_the_services_of_the_proxy_are_not_there_but_its_door_is(tried: dict[str, str], house: House) -> None:
    for port in (house.gate._api, house.gate._metrics, house.gate._grpc):
        assert tried[f"port {port}"] == "ECONNREFUSED"
    assert tried["door"] == "done"


def test_names_are_not_resolved(tried: dict[str, str]) -> None:
    assert tried["resolver"] == tried["internal"] == "no address"


def test_no_other_kind_of_socket_leads_out(tried: dict[str, str]) -> None:
    assert tried["raw"] in ("EPERM", "EPROTONOSUPPORT")
    assert tried["packet"] == "EPERM"
    assert tried["vsock"] == tried["bluetooth"] == "EAFNOSUPPORT"
    assert tried["own raw"] in ("done", "ENETUNREACH")


def test_the_kernel_does_nothing_on_its_behalf(tried: dict[str, str]) -> None:
    assert tried["io_uring"] == tried["key"] == "ENOSYS"
    assert tried["typing"] == "EPERM"


def test_processes_outside_are_out_of_reach(tried: dict[str, str]) -> None:
    assert tried["signal"] == "ESRCH"
    assert tried["memory"] == "ENOENT"


def test_process_1_keeps_nothing_that_can_be_taken(tried: dict[str, str]) -> None:
    assert tried["first memory"] == tried["first environment"] == "EACCES"
    assert tried["join"] in ("EACCES", "EPERM")


def test_inherited_descriptors_are_closed(house: House, ears: Ears) -> None:
    with socket.create_connection(ears.streams["tcp 127.0.0.1"].getsockname()) as outside:
        number = outside.fileno()
        script = f"import os; os.fstat({number})"
        command = [*house.command("unprivileged", "--isolate"), sys.executable, "-c", script]
        ran = subprocess.run(
            command, env=environment(), pass_fds=[number], capture_output=True, text=True, timeout=60, check=False
        )
    assert "Bad file descriptor" in ran.stderr
    ears.heard()


def test_the_probes_are_files_of_their_own(tried: dict[str, str]) -> None:
    """An unknown probe would count as refused."""
    assert not [came for came in tried.values() if came.startswith(("KeyError", "TypeError", "NameError"))]


def test_sockets_of_others_are_not_in_run(house: House) -> None:
    ran = house.run("unprivileged", ["sh", "-c", "ls /run; ls /dev/pts; env"], "--isolate", SSH_AUTH_SOCK="/tmp/agent")
    assert ran.stdout.splitlines()[:2] == ["lock", "user"]
    assert "SSH_AUTH_SOCK" not in ran.stdout
    assert Path("/run").is_dir()
