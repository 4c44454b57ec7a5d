"""How many frames that ask for nothing an HTTP/2 client may send: PING, SETTINGS, PRIORITY, empty DATA, resets."""

from __future__ import annotations

import time

from h2.events import (
    DataReceived,
    Event,
    PingReceived,
    PriorityUpdated,
    RemoteSettingsChanged,
    SettingsAcknowledged,
    StreamReset,
    UnknownFrameReceived,
)

# What a frame costs that asks for nothing but makes us work. A reset costs more: its request has been decided by then
# (CVE-2023-44487). WINDOW_UPDATE is free: an honest client sends one or two for every DATA frame it is sent.
_COSTS: dict[type[Event], int] = {
    PingReceived: 1, RemoteSettingsChanged: 1, SettingsAcknowledged: 1, PriorityUpdated: 1, UnknownFrameReceived: 1,
    StreamReset: 5,
}  # fmt: skip
CALM_BURST = 1000.0
CALM_PER_SECOND = 100.0


class Calm:
    """A bucket of frames that ask for nothing: `burst` at once, `per_second` for ever."""

    def __init__(self, burst: float = CALM_BURST, per_second: float = CALM_PER_SECOND) -> None:
        self._burst = self._left = burst
        self._per_second = per_second
        self._at = time.monotonic()

    def bears(self, event: Event) -> bool:
        """Whether this frame, too, may be sent."""
        if not (cost := _cost(event)):
            return True
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second) - cost
        self._at = now
        return self._left >= 0


def _cost(event: Event) -> int:
    if isinstance(event, DataReceived):
        return int(not event.data and not event.stream_ended)
    return _COSTS.get(type(event), 0)
