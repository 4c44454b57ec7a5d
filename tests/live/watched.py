"""A gate that writes down its lookups and connects."""

from __future__ import annotations

from pathlib import Path

from live.gate import Gate


class WatchedGate(Gate):
    """Start it with EFFECTGATE_TEST_WATCH set to `watch`."""

    program = (str(Path(__file__).with_name("watched_serve.py")),)

    @property
    def watch(self) -> Path:
        """Where they are written."""
        return self.directory / "watched"

    def seen(self) -> list[str]:
        """Lookups and connects so far."""
        return self.watch.read_text().splitlines()
