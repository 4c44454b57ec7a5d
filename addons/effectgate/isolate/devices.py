"""The devices and the process table of a cell."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from effectgate.isolate import kernel

DEV = Path("/dev")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
QUIET = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
# What root may write in a process file system by the mode of the file alone, without any capability.
SYSTEM_WIDE = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr")


def make_devices() -> None:
    """Replace /dev by one without disks, virtual machines, tunnels, and the terminals of others. Raises OSError."""
    nodes = {name: os.open(DEV / name, os.O_PATH | os.O_CLOEXEC) for name in DEVICES}
    kernel.mount("tmpfs", str(DEV), "tmpfs", kernel.MS_NOSUID, "mode=755")
    for name, descriptor in nodes.items():
        (DEV / name).touch()
        kernel.bind(f"/proc/self/fd/{descriptor}", str(DEV / name))
        kernel.set_attributes(str(DEV / name), 0, clear=kernel.ATTR_NODEV)
        os.close(descriptor)
    for name, target in LINKS.items():
        (DEV / name).symlink_to(target)
    for name in ("pts", "shm"):
        (DEV / name).mkdir()
    kernel.mount("tmpfs", str(DEV / "shm"), "tmpfs", QUIET, "mode=1777")
    with contextlib.suppress(OSError):  # an older kernel wants a mapped root for it: then there are no pseudo-terminals
        kernel.mount(
            "devpts", str(DEV / "pts"), "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC, "ptmxmode=0666,mode=620"
        )
    kernel.set_attributes(str(DEV), kernel.ATTR_RDONLY)


def make_process_table() -> None:
    """Mount the /proc of the current process namespace, without its switches. Raises OSError."""
    kernel.mount("proc", "/proc", "proc", QUIET)
    for name in SYSTEM_WIDE:
        path = f"/proc/{name}"
        if os.path.exists(path):
            kernel.bind(path, path)
            kernel.set_attributes(path, kernel.ATTR_RDONLY)
