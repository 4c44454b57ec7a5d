"""What hangs is broken off; what does not is left alone."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import pytest

from effectgate.watchdog import SIGNAL, HangError, Watchdog


@pytest.fixture
def watchdog() -> Iterator[Watchdog]:
    made = Watchdog(0.1)
    yield made
    made.close()


def test_a_loop_is_broken_off(watchdog: Watchdog) -> None:
    with pytest.raises(HangError), watchdog.guard():
        for _ in iter(int, 1):
            pass


def test_a_sleep_is_broken_off(watchdog: Watchdog) -> None:
    began = time.monotonic()
    with pytest.raises(HangError), watchdog.guard():
        time.sleep(30)
    assert time.monotonic() - began < 5


def test_what_ends_in_time_is_left_alone(watchdog: Watchdog) -> None:
    for _ in range(20):
        with watchdog.guard():
            time.sleep(0.01)
    time.sleep(0.3)


def test_elsewhere_than_on_the_main_thread_it_does_nothing() -> None:
    done = []

    def elsewhere() -> None:
        watchdog = Watchdog(0.01)
        with watchdog.guard():
            time.sleep(0.1)
        watchdog.close()
        done.append(True)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert done


def test_the_former_handler_comes_back() -> None:
    before = signal.getsignal(SIGNAL)
    Watchdog().close()
    assert signal.getsignal(SIGNAL) == before
