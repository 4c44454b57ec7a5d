"""A process whose `/etc` names another resolver, alone in a network of its own; needs Linux and `unshare` (util-linux)."""

from __future__ import annotations

import fcntl
import functools
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from live.gate import ROOT, environment

# Root makes the namespaces at once; others in a user namespace, or where that is forbidden (Ubuntu 24.04) by way of sudo.
WAYS: tuple[tuple[str, ...], ...] = (("unshare", "-mn"), ("unshare", "-Urmn"), ("sudo", "-n", "-E", "unshare", "-mn"))
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


@functools.cache
def way() -> tuple[str, ...]:
    """The first command that gives a process namespaces here; empty where none does."""
    for command in WAYS[0 if os.geteuid() == 0 else 1 :]:
        try:
            if subprocess.run([*command, "true"], capture_output=True, timeout=20, check=False).returncode == 0:
                return command
        except (OSError, subprocess.TimeoutExpired):
            continue
    return ()


def run_inside(module: str, *arguments: str) -> str:
    """What `python -m module` prints in namespaces of its own; raises AssertionError with its stderr where it fails."""
    python_path = f"{ROOT / 'addons'}{os.pathsep}{ROOT / 'tests'}"
    command = [*way(), sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command, env=environment(PYTHONPATH=python_path), capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def bring_up_loopback() -> None:
    """A new network namespace has a loopback interface that is down (netdevice(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def put_over_etc(files: Mapping[str, str], directory: Path) -> None:
    """Mount each text over the file of that name in /etc, in this mount namespace only."""
    for name, text in files.items():
        (directory / name).write_text(text)
        _mount("--bind", str(directory / name), os.path.realpath(f"/etc/{name}"))


def _mount(*arguments: str) -> None:
    command: Sequence[str] = ("mount", *arguments)
    subprocess.run(command, check=True, capture_output=True, timeout=20)
