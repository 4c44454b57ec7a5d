"""Waiting for a child as a shell does: its exit code, and signals passed on exactly once."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALLED = 128  # as shells report it
FORWARDED = frozenset({signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2})
WAITED = FORWARDED | {signal.SIGCHLD}
# Python ignores these for itself, and an ignored signal stays ignored over exec.
RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)
SI_USER = 0  # sent by a process; the terminal's have another code, and reach the child by themselves


@contextmanager
def holding_signals() -> Iterator[None]:
    """Inside the block the signals of interest wait to be asked for; threads that are started inherit that."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WAITED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def supervise(child: int) -> int:
    """The exit code of `child`, 128 + N where signal N ended it. To be called with signals held.

    Whatever else is a child of ours (in a process namespace: every orphan) is waited for too.
    """
    while True:
        told = signal.sigwaitinfo(WAITED)
        if told.si_signo != signal.SIGCHLD:
            if told.si_code <= SI_USER:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, told.si_signo)
        elif (code := _reaped(child)) is not None:
            return code


def _reaped(child: int) -> int | None:
    """Collect all that have ended; the exit code of `child` if it is among them."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                status = os.waitstatus_to_exitcode(ended[1])
                code = status if status >= 0 else SIGNALLED - status
    return code


def release_signals() -> None:
    """In a child, before exec: what the caller of `run` had set is what the command gets; only Python's own settings are undone."""
    for number in RESTORED:
        signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WAITED)
