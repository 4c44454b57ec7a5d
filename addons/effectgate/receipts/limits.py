"""Limits of a grant over fixed windows: arithmetic only (design.md section 6, `limits`). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

# Windows begin at multiples of these seconds since the epoch. `run` never resets: it ends with the grant.
WINDOW_SECONDS: Final[Mapping[str, int]] = {"minute": 60, "hour": 3600, "day": 86400, "week": 604800, "run": 0}


@dataclass(frozen=True, slots=True)
class Window:
    """One window: when it began, seconds since the epoch, and when it resets (None: never)."""

    began: int
    resets: datetime | None

    @classmethod
    def at(cls, per: str, now: datetime) -> Window:
        """The window of this kind that `now` lies in."""
        length = WINDOW_SECONDS[per]
        if not length:
            return cls(0, None)
        began = int(now.timestamp()) // length * length
        return cls(began, datetime.fromtimestamp(began + length, UTC))


@dataclass(slots=True)
class Meter:
    """One limit of one principal in one window. `used` is settled, `reserved` is out with requests that still run.

    Once what is settled reaches the limit the meter latches: nothing opens it again within the window.
    """

    limit: int
    window: Window
    used: int = 0
    reserved: int = 0
    latched: bool = False

    @property
    def left(self) -> int:
        """What may still be reserved."""
        return 0 if self.latched else max(0, self.limit - self.used - self.reserved)

    @property
    def counted(self) -> int:
        """What counts after a crash: the settled and, because it may have been sent, the reserved."""
        return self.used + self.reserved

    def reserve(self, amount: int) -> None:
        """Take `amount`, at most `left`, before anything is sent."""
        self.reserved += amount

    def settle(self, reserved: int, used: int) -> None:
        """Replace a reservation by what was used, which may be more."""
        self.reserved = max(0, self.reserved - reserved)
        self.used += used
        self.latched = self.latched or self.used >= self.limit

    def adopt(self, began: int, counted: int) -> None:
        """Take over what all processes have used in the window that began then, this one's reservations among it."""
        if (
            began > self.window.began
        ):  # theirs is a later window, or a clock was ahead: nothing is given back on that alone
            self.window = Window(began, self.window.resets)
            self.used, self.reserved = max(counted, self.counted), 0
        elif began == self.window.began:
            self.used = max(0, counted - self.reserved)
        self.latched = self.used >= self.limit

    def turn(self, limit: int, window: Window) -> None:
        """Go over to the present window and limit. An earlier window, of a clock that was ahead and is right again, keeps what was used."""
        if window.began > self.window.began:
            self.used, self.reserved, self.latched = 0, 0, False
        elif window.began < self.window.began:
            self.used, self.reserved = self.counted, 0
        self.window = window
        if limit != self.limit:
            self.limit, self.latched = limit, self.used >= limit


@dataclass(frozen=True, slots=True)
class Exhausted:
    """Why a reservation was refused."""

    limit: str
    per: str
    size: int
    left: int
    asked: int
    resets: datetime | None

    def sentence(self) -> str:
        """The reason of the refusal: what is left, and when it resets."""
        name = self.limit.replace("_", " ")
        until = f"it resets at {self.resets:%Y-%m-%dT%H:%M:%SZ}" if self.resets else "it does not reset in this run"
        asked = f"this request needs {self.asked}, " if self.asked > 1 else ""
        return f"The limit of {self.size} {name} per {self.per} is used up: {asked}{self.left} are left, {until}."
