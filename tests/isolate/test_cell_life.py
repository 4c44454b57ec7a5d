"""A cell lives exactly as long as its command, and is to its caller what the command would be."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import termios
import time

import pytest

from isolate.cells import USERS, House
from live.gate import environment, wait

pytestmark = pytest.mark.timeout(180)


def started(house: House, user: str, script: str, **more: object) -> subprocess.Popen[str]:
    """A command that says `started` when it runs."""
    process: subprocess.Popen[str] = subprocess.Popen(
        [*house.command(user, "--isolate"), "sh", "-c", script],
        env=environment(), cwd=house.cwd, stdout=subprocess.PIPE, text=True, **more,  # type: ignore[call-overload]
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def running(argument: str) -> list[int]:
    """The processes that have `argument` on their command line."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as stream:
                arguments = stream.read().split(b"\0")
        except OSError:
            continue
        if argument.encode() in arguments:
            found.append(int(name))
    return found


@pytest.mark.parametrize("user", USERS)
def test_exit_codes_and_streams(house: House, user: str) -> None:
    ran = house.run(user, ["sh", "-c", "echo out; echo err >&2; exit 7"], "--isolate")
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "out\n", "err\n")


def test_a_signal_that_ended_it_and_a_command_that_is_not_there(house: House) -> None:
    killed = house.run("unprivileged", ["sh", "-c", "kill -KILL $$"], "--isolate")
    assert killed.returncode == 128 + signal.SIGKILL
    missing = house.run("unprivileged", ["no-such-command"], "--isolate")
    assert missing.returncode == 127
    assert missing.stderr == "effectgate: no-such-command: no such command; check its name and PATH\n"
    (house.cwd / "plain").write_text("x")
    assert house.run("unprivileged", ["./plain"], "--isolate").returncode == 126


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_is_passed_on_once(house: House, number: signal.Signals) -> None:
    name = number.name.removeprefix("SIG")
    script = f"n=0; trap 'n=$((n+1)); echo got' {name}; trap 'exit $n' USR1; echo started; while :; do sleep 0.1; done"
    process = started(house, "unprivileged", script)
    with process:
        process.send_signal(number)
        assert process.stdout is not None
        assert process.stdout.readline() == "got\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGUSR1)
        assert process.wait(30) == 1


@pytest.mark.parametrize("user", USERS)
def test_a_killed_run_leaves_nothing_behind(house: House, user: str) -> None:
    mark = f"{987654321 + os.getpid()}{len(user)}"
    process = started(house, user, f"setsid sleep {mark} & echo started; exec sleep {mark}")
    assert wait(lambda: len(running(mark)) == 2, 10)
    process.kill()
    assert wait(lambda: not running(mark), 20)
    process.stdout.close()  # type: ignore[union-attr]
    process.wait(20)


def test_what_runs_on_in_the_background_ends_with_the_command(house: House) -> None:
    mark = f"8{987654321 + os.getpid()}"
    assert house.run("unprivileged", ["sh", "-c", f"setsid sleep {mark} & exit 3"], "--isolate").returncode == 3
    assert not running(mark)


def test_the_terminal_is_the_commands(house: House) -> None:
    """Ctrl-C reaches it once, and through the terminal alone."""
    master, slave = pty.openpty()
    script = "n=0; trap 'n=$((n+1))' INT; trap 'exit $n' TERM; tty >/dev/null; [ -t 0 ] && echo started; while :; do sleep 0.1; done"
    process = started(house, "unprivileged", script, stdin=slave, start_new_session=True, preexec_fn=_take_terminal)
    with process:
        os.write(master, b"\x03")
        time.sleep(1.0)
        process.terminate()
        assert process.wait(30) == 1
    for descriptor in (master, slave):
        os.close(descriptor)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_the_memory_of_the_proxy_is_closed_to_its_own_user(house: House) -> None:
    """Also to one that `run` does not hold: keys lie in it."""
    assert house.gate.process is not None
    for name in ("environ", "mem", "maps"):
        command = [*USERS["unprivileged"], "cat", f"/proc/{house.gate.process.pid}/{name}"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        assert "Permission denied" in ran.stderr
