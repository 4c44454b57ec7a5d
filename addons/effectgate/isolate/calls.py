"""Which system calls a command is refused, as a seccomp filter: those that reach past its namespaces.

A network namespace holds back the families that know of it; vsock and a few others do not. io_uring makes sockets without
asking the filter, and the kernel's key service resolves names outside. 32-bit calls have other numbers and are refused as a whole.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from dataclasses import dataclass

# linux/filter.h, linux/bpf_common.h
LOAD, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
# linux/seccomp.h: the returns, and where in `struct seccomp_data` the fields lie (the low half of an argument, little-endian)
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER, ARCHITECTURE, FIRST, SECOND = 0, 4, 16, 24
X32 = 0x40000000  # the bit that marks calls of the x32 ABI
# asm-generic/ioctls.h: both put characters into a terminal, as if typed after the command has ended
TYPING = (0x5412, 0x541C)
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16, 17)  # 16: netlink, 17: packet
IO_URING = (425, 426, 427)


@dataclass(frozen=True, slots=True)
class Architecture:
    """AUDIT_ARCH_* (linux/audit.h) and the numbers of the calls of interest."""

    audit: int
    ioctl: int
    socket: int
    keys: tuple[int, int, int]  # add_key, request_key, keyctl


def _generic(audit: int) -> Architecture:
    """One that numbers its calls as asm-generic/unistd.h does."""
    return Architecture(audit, ioctl=29, socket=198, keys=(217, 218, 219))


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, 16, 41, (248, 249, 250)),
    "aarch64": _generic(0xC00000B7),
    "riscv64": _generic(0xC00000F3),
    "loongarch64": _generic(0xC0000102),
}


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _refuse(number: int) -> bytes:
    return _step(RETURN, ERRNO | number)


def _unless(value: int, then: bytes) -> bytes:
    """Run `then` where the loaded word equals `value`, else skip it."""
    return _step(IF_EQUAL, value, 0, len(then) // 8) + then


def program(architecture: Architecture) -> bytes:
    """The filter, to be installed with `kernel.filter_calls`."""
    foreign = _step(IF_EQUAL, architecture.audit, 1, 0) + _refuse(errno.ENOSYS)
    foreign += _step(LOAD, NUMBER) + _step(IF_AT_LEAST, X32, 0, 1) + _refuse(errno.ENOSYS)
    absent = b"".join(_unless(number, _refuse(errno.ENOSYS)) for number in (*IO_URING, *architecture.keys))
    typing = b"".join(_unless(request, _refuse(errno.EPERM)) for request in TYPING)
    known = b"".join(_unless(family, _step(RETURN, ALLOW)) for family in FAMILIES)
    ioctl = _unless(architecture.ioctl, _step(LOAD, SECOND) + typing + _step(RETURN, ALLOW))
    sockets = _unless(architecture.socket, _step(LOAD, FIRST) + known + _refuse(errno.EAFNOSUPPORT))
    return _step(LOAD, ARCHITECTURE) + foreign + absent + ioctl + sockets + _step(RETURN, ALLOW)


def program_here() -> bytes:
    """The filter for this machine. Raises OSError (ENOSYS) where its call numbers are not known to us."""
    architecture = ARCHITECTURES.get(os.uname().machine)
    if architecture is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {os.uname().machine}", "seccomp")
    return program(architecture)
