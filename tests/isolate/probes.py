"""What a hostile command tries. A program of its own: reads a task as JSON, tries each line, prints what came of it.

A probe is a list: its kind, then its arguments. Outcomes are `done`, `empty`, or the name of the error.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
MS_BIND, MS_REC, MNT_DETACH, MS_REMOUNT = 0x1000, 0x4000, 2, 0x20
SECONDS = 2.0


class EmptyError(Exception):
    """There was nothing in it."""


def tcp(host: str, port: int) -> None:
    socket.create_connection((host, port), SECONDS).close()


def udp(host: str, port: int) -> None:
    """Nobody answers a datagram: only the listener outside can tell whether one came."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"\xc3\x00\x00\x00\x01", (host, port))


def resolve(name: str) -> None:
    socket.getaddrinfo(name, 443)


def family(number: int, kind: int) -> None:
    socket.socket(number, kind).close()


def unix(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(SECONDS)
        sock.connect("\0" + path[1:] if path.startswith("@") else path)


def read(path: str) -> None:
    """What can be opened and holds nothing is a cover."""
    if not (os.listdir(path) if os.path.isdir(path) else Path(path).read_bytes()):
        raise EmptyError


def write(path: str) -> None:
    """Append nothing: a file that can be opened so can be changed."""
    if os.path.isdir(path):
        Path(path, "planted").write_text("x")
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND))


def replace(path: str) -> None:
    """Put a file of ours in its place."""
    mine = Path("mine")
    mine.write_text("x")
    mine.replace(path)


def remove(path: str) -> None:
    os.rmdir(path) if os.path.isdir(path) else os.unlink(path)


def move(path: str) -> None:
    os.rename(path, f"{path}.moved")


def hard_link(path: str) -> None:
    os.link(path, "linked")
    read("linked")


def soft_link(path: str) -> None:
    Path("pointer").unlink(missing_ok=True)
    os.symlink(path, "pointer")
    read("pointer")


def by_descriptor(path: str) -> None:
    """Through the descriptor of a directory above, and the descriptor's name in /proc."""
    above = os.open(os.path.dirname(path), os.O_PATH)
    read(f"/proc/self/fd/{above}/{os.path.basename(path)}")


def chmod(path: str) -> None:
    os.chmod(path, 0o777)


def umount(path: str) -> None:
    """Also in namespaces of our own, where we have every capability."""
    _own_namespaces()
    _call(LIBC.umount2, os.fsencode(path), MNT_DETACH)


def bind_above(path: str) -> None:
    """A bind mount of the directory above, without what is mounted in it."""
    _own_namespaces()
    Path("bound").mkdir(exist_ok=True)
    _call(LIBC.mount, os.fsencode(os.path.dirname(path)), b"bound", b"", MS_BIND, b"")
    read(f"bound/{os.path.basename(path)}")


def bind_tree(path: str) -> None:
    """The same with what is mounted in it."""
    _own_namespaces()
    Path("bound").mkdir(exist_ok=True)
    _call(LIBC.mount, os.fsencode(os.path.dirname(path)), b"bound", b"", MS_BIND | MS_REC, b"")
    read(f"bound/{os.path.basename(path)}")


def overlay(path: str) -> None:
    """The directory above as the lower layer of an overlay."""
    _own_namespaces()
    for name in ("upper", "work", "merged"):
        Path(name).mkdir(exist_ok=True)
    options = f"lowerdir={os.path.dirname(path)},upperdir={os.getcwd()}/upper,workdir={os.getcwd()}/work,userxattr"
    _call(LIBC.mount, b"overlay", b"merged", b"overlay", 0, options.encode())
    read(f"merged/{os.path.basename(path)}")


def remount(path: str) -> None:
    """Take the read-only flag off."""
    _own_namespaces()
    _call(LIBC.mount, b"", os.fsencode(path), b"", MS_REMOUNT | MS_BIND, b"")


def signal_process(number: int) -> None:
    os.kill(number, 0)


def system_call(number: int, *arguments: int) -> None:
    _call(LIBC.syscall, number, *arguments)


def request_key() -> None:
    number = {"x86_64": 249}.get(os.uname().machine, 218)
    _call(LIBC.syscall, number, b"dns_resolver", b"example.com", b"", 0)


def raw_in_own_network(kind: int) -> None:
    """With every capability over a network of our own; what is sent there goes nowhere."""
    _own_namespaces(os.CLONE_NEWNET)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, kind) as sock:
        sock.sendto(b"\x08\x00\xf7\xff\x00\x00\x00\x00", ("127.0.0.1", 0))


def join(path: str) -> None:
    """Enter the namespaces of another process."""
    with open(path) as namespace:
        os.setns(namespace.fileno())


def type_into_terminal() -> None:
    """TIOCSTI on a terminal that is ours: the filter refuses it before the terminal is asked."""
    master, slave = os.openpty()
    try:
        fcntl.ioctl(slave, 0x5412, b"x")
    finally:
        os.close(master)
        os.close(slave)


def descriptor(number: int) -> None:
    os.fstat(number)


def _own_namespaces(more: int = 0) -> None:
    """Full capabilities in user, mount and other namespaces; root of a parent without CAP_SETFCAP cannot be mapped, and needs no map."""
    user, group = os.geteuid(), os.getegid()
    os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNS | more)
    with contextlib.suppress(PermissionError):
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            Path("/proc/self", name).write_text(text)


def _call(function: Callable[..., int], *arguments: object) -> None:
    if function(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "")


def attempt(kind: str, arguments: list[object]) -> str:
    """In a child of its own: some probes change their process for good."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, _outcome(kind, arguments).encode())
        os._exit(0)
    os.close(writer)
    os.wait()
    with open(reader) as stream:
        return stream.read()


def _outcome(kind: str, arguments: list[object]) -> str:
    try:
        globals()[kind](*arguments)
    except socket.gaierror:
        return "no address"
    except EmptyError:
        return "empty"
    except TimeoutError:
        return "timeout"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    except Exception as error:
        return repr(error)
    return "done"


def main(task: Mapping[str, list[object]]) -> None:
    print(json.dumps({name: attempt(str(kind), arguments) for name, (kind, *arguments) in task.items()}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
