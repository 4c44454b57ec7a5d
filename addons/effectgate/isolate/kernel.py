"""The Linux calls that the standard library lacks, as thin as ctypes allows: mounts, prctl, capabilities, Landlock.

No well-kept Python package covers them; each is one call with constants from the kernel's uapi headers. All raise OSError.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path

# linux/mount.h
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x2, 0x4, 0x8
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 0x1, 0x2, 0x4
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
# linux/prctl.h
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 24, 38
SECCOMP_MODE_FILTER = 2
# linux/capability.h
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")
# Numbers above 424 are the same on every architecture (but alpha).
MOUNT_SETATTR, LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 442, 444, 446
# linux/landlock.h
LANDLOCK_CREATE_RULESET_VERSION = 1
SCOPE_ABSTRACT_UNIX_SOCKET, SCOPE_SIGNAL = 0x1, 0x2
SCOPES_SINCE = 6

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    """mount(2)."""
    arguments = (source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options.encode())
    _checked(_libc.mount(*arguments), target)


def bind(source: str, target: str) -> None:
    """Make what lies at `source`, and what is mounted below it, appear at `target`."""
    mount(source, target, "", MS_BIND | MS_REC)


def set_attributes(target: str, attributes: int, *, clear: int = 0, recursive: bool = False) -> None:
    """mount_setattr(2): set and clear mount attributes, leaving the others as they are."""
    request = struct.pack("=4Q", attributes, clear, 0, 0)
    flags = AT_RECURSIVE if recursive else 0
    path = os.fsencode(target)
    _checked(_libc.syscall(MOUNT_SETATTR, AT_FDCWD, path, flags, request, ctypes.c_size_t(len(request))), target)


def prctl(option: int, value: object, *, name: str) -> None:
    """prctl(2) with one argument."""
    zero = ctypes.c_ulong(0)
    argument = ctypes.c_ulong(value) if isinstance(value, int) else value
    _checked(_libc.prctl(option, argument, zero, zero, zero), name)


def die_with_parent(number: int) -> None:
    """Have the kernel send us signal `number` when the thread that forked us ends, however it ends."""
    prctl(PR_SET_PDEATHSIG, number, name="PR_SET_PDEATHSIG")


def hide_memory() -> None:
    """No process of the same user may trace this one, read its memory or open its descriptors; it leaves no core. Linux only."""
    if sys.platform == "linux":
        prctl(PR_SET_DUMPABLE, 0, name="PR_SET_DUMPABLE")


def drop_privileges() -> None:
    """Give up every capability, for this process and all that it ever starts, set-user-ID programs included."""
    prctl(PR_SET_NO_NEW_PRIVS, 1, name="PR_SET_NO_NEW_PRIVS")
    for capability in range(int(LAST_CAPABILITY.read_text()) + 1):
        prctl(PR_CAPBSET_DROP, capability, name="PR_CAPBSET_DROP")
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    _checked(_libc.capset(header, bytes(24)), "capset")


def filter_calls(program: bytes) -> None:
    """Install a seccomp filter: `program` is an array of `struct sock_filter` (linux/filter.h)."""
    buffer = ctypes.create_string_buffer(program, len(program))
    record = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    zero = ctypes.c_ulong(0)
    result = _libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), record, zero, zero)
    _checked(result, "PR_SET_SECCOMP")


def landlock_version() -> int:
    """The Landlock ABI of this kernel; 0 without Landlock."""
    none = ctypes.c_void_p(None)
    size = ctypes.c_size_t(0)
    return max(0, int(_libc.syscall(LANDLOCK_CREATE_RULESET, none, size, LANDLOCK_CREATE_RULESET_VERSION)))


def scope() -> None:
    """Cut this process and its children off from abstract unix sockets and signals of all others, where Landlock can (Linux 6.12).

    Nothing of the file system is restricted by it: a Landlock domain that does forbids every mount, and with it nested sandboxes.
    """
    if landlock_version() < SCOPES_SINCE:
        return
    ruleset = struct.pack("=3Q", 0, 0, SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL)
    size = ctypes.c_size_t(len(ruleset))
    descriptor = _checked(_libc.syscall(LANDLOCK_CREATE_RULESET, ruleset, size, 0), "landlock_create_ruleset")
    _checked(_libc.syscall(LANDLOCK_RESTRICT_SELF, descriptor, 0), "landlock_restrict_self")
    os.close(descriptor)
