"""A cell: the processes between `effectgate run` and the command, and the namespaces that they make.

    run (outside, relays) -> builder (user, mount, network namespace) -> first (process 1 of a process namespace) -> CMD

Each dies with its parent, and with process 1 the kernel ends everything in the cell. The builder keeps its capabilities, but stands in
the outer process namespace, where the command cannot see it; process 1 has given up all that the command has not.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from effectgate.isolate import kernel
from effectgate.isolate.calls import program_here
from effectgate.isolate.devices import make_devices, make_process_table
from effectgate.isolate.errors import IsolationError
from effectgate.isolate.network import open_listener
from effectgate.isolate.supervision import release_signals, supervise
from effectgate.isolate.view import View, arrange

MESSAGE = 4096
NOT_STARTED = 126
MOST_DESCRIPTORS = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Plan:
    """`port` is where the proxy is reached inside, on 127.0.0.1; None leaves the command in the network of its caller."""

    view: View
    port: int | None = None


class Cell:
    """One that is built and waits for its command; `door` listens inside, and is None without a network of its own."""

    def __init__(self, builder: int, control: socket.socket, door: socket.socket | None) -> None:
        self._builder = builder
        self._control = control
        self._ended = False
        self.door = door

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        """Run to the end; the exit code, 128 + N after signal N. Raises OSError where the command cannot be started.

        To be called with signals held (`holding_signals`).
        """
        order = {"command": list(command), "environment": dict(environment)}
        self._control.sendall(json.dumps(order).encode())
        self._control.shutdown(socket.SHUT_WR)
        code = supervise(self._builder)
        self._ended = True
        if told := self._control.recv(MESSAGE):
            raise _failure(json.loads(told))
        return code

    def close(self) -> None:
        """End whatever is left of it."""
        if not self._ended:  # else the number may be another's by now
            os.kill(self._builder, signal.SIGKILL)
            os.waitpid(self._builder, 0)
        self._control.close()


@contextmanager
def built(plan: Plan) -> Iterator[Cell]:
    """A cell in the block. Raises IsolationError where this system does not let us make one.

    Forks, so to be called before any thread is started, and with signals held.
    """
    ours, theirs = socket.socketpair()
    builder = os.fork()
    if builder == 0:
        ours.close()
        _ending(lambda: _build(plan, theirs), theirs)
    theirs.close()
    cell = Cell(builder, ours, None)
    try:
        cell.door = _await_ready(ours)
        yield cell
    finally:
        cell.close()


def _await_ready(control: socket.socket) -> socket.socket | None:
    message, descriptors, _, _ = socket.recv_fds(control, MESSAGE, 1)
    if fault := json.loads(message or b'{"what": "it ended", "number": 0, "command": false}'):
        raise _failure(fault)
    return socket.socket(fileno=descriptors[0]) if descriptors else None


def _failure(fault: dict[str, Any]) -> Exception:
    """What a process of the cell has told: the command cannot be started, or the cell cannot be built."""
    error = OSError(fault["number"], os.strerror(fault["number"]), fault["what"])
    if fault["command"]:
        return error
    reason = f"this system does not let us hold the command ({error.filename}: {error.strerror})"
    return IsolationError(reason, "allow user namespaces, use a container as in deploy/, or see --same-user")


def _ending(body: Callable[[], int], control: socket.socket, *, command: bool = False) -> NoReturn:
    """Run `body` and end the process with its code; a failure is told, and never leaves a second copy of our caller running."""
    code = NOT_STARTED
    try:
        code = body()
    except OSError as error:
        fault = {"what": str(error.filename or "system call"), "number": error.errno or 0, "command": command}
        with contextlib.suppress(OSError):
            control.sendall(json.dumps(fault).encode())
    finally:
        os._exit(code)


def _build(plan: Plan, control: socket.socket) -> int:
    caller = os.getppid()
    _enter_namespaces(plan.port is not None)
    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != caller:
        return NOT_STARTED
    doors = [open_listener(plan.port)] if plan.port is not None else []
    arrange(plan.view)
    make_devices()
    filter_ = program_here()
    socket.send_fds(control, [b"{}"], [door.fileno() for door in doors])
    for door in doors:
        door.close()
    if not (order := _received(control)):
        return NOT_STARTED
    alive, ours = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(ours)
        _ending(lambda: _first(plan.view, filter_, json.loads(order), alive, control), control)
    control.close()
    return supervise(first)


def _received(control: socket.socket) -> bytes:
    parts = list(iter(lambda: control.recv(1 << 16), b""))
    return b"".join(parts)


def _enter_namespaces(network: bool) -> None:
    """Our user and group stay what they are, and are the only ones there are."""
    user, group = os.geteuid(), os.getegid()
    own = os.CLONE_NEWUSER | os.CLONE_NEWNS | os.CLONE_NEWPID | os.CLONE_NEWIPC
    try:
        os.unshare(own | (os.CLONE_NEWNET if network else 0))
    except OSError as error:
        raise OSError(error.errno, error.strerror, "unshare") from error
    for file, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{file}", "w") as stream:
            stream.write(text)


def _first(view: View, filter_: bytes, order: dict[str, Any], alive: int, control: socket.socket) -> int:
    """Process 1: what it keeps, the command could take from it."""
    kernel.die_with_parent(signal.SIGKILL)
    if select.select([alive], [], [], 0)[0]:  # the builder had ended before we asked to die with it
        return NOT_STARTED
    make_process_table()
    os.chdir(view.cwd)
    kernel.drop_privileges()
    kernel.scope()
    kernel.filter_calls(filter_)
    kernel.hide_memory()
    command = os.fork()
    if command == 0:
        _ending(lambda: _execute(order["command"], order["environment"]), control, command=True)
    os.closerange(3, MOST_DESCRIPTORS)
    return supervise(command)


def _execute(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Become the command. Every descriptor but the first three closes with that."""
    release_signals()
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2:
            with contextlib.suppress(OSError):
                os.set_inheritable(descriptor, False)
    try:
        os.execvpe(command[0], list(command), environment)
    except OSError as error:
        raise OSError(error.errno, error.strerror, command[0]) from error
