"""The clock that decides: set back it gives no time, set forward it takes none for longer than it was wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from effectgate.instant import never_behind

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Clocks:
    """A wall clock that can be set, and what has really passed."""

    def __init__(self) -> None:
        self.wall = NOON
        self.passed = 5.0
        self.read = never_behind(lambda: self.wall, lambda: self.passed)

    def pass_by(self, time: timedelta) -> None:
        """Both go on."""
        self.wall += time
        self.passed += time.total_seconds()


def test_it_is_the_wall_clock_while_that_goes_on() -> None:
    clocks = Clocks()
    clocks.pass_by(HOUR)
    assert clocks.read() == NOON + HOUR


def test_set_back_it_goes_on() -> None:
    clocks = Clocks()
    clocks.wall -= 48 * HOUR
    assert clocks.read() == NOON
    clocks.pass_by(HOUR)
    assert clocks.read() == NOON + HOUR


def test_set_forward_it_follows_and_comes_back_with_it() -> None:
    clocks = Clocks()
    clocks.wall += 1000 * HOUR
    assert clocks.read() == NOON + 1000 * HOUR
    clocks.wall -= 1000 * HOUR
    clocks.pass_by(HOUR)
    assert clocks.read() == NOON + HOUR


def test_a_sleeping_machine_catches_up() -> None:
    """The monotonic clock of Linux stands still while the machine is suspended."""
    clocks = Clocks()
    clocks.wall += HOUR
    assert clocks.read() == NOON + HOUR
