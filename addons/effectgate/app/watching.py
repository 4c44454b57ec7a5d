"""Which files the policy comes from, and when they change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import structlog
from watchfiles import Change, awatch

from effectgate.config import Settings
from effectgate.pack_sources import CEILINGS

log = structlog.get_logger("effectgate")

# Editors and deployments write several files for one change.
DEBOUNCE_MS = 300
STEP_MS = 50
POLL_MS = 500


@dataclass(frozen=True, slots=True)
class Watched:
    """Single files, and directories of packs and ceilings. Directories are watched: a file put in place by a rename is a new one."""

    files: frozenset[Path]
    packs: frozenset[Path]

    @classmethod
    def of(cls, settings: Settings) -> Watched:
        """What these settings are read from."""
        files = frozenset(file.resolve() for file in (settings.file, settings.grants) if file is not None)
        packs = frozenset(
            place.resolve() for directory in settings.packs for place in (directory, directory / CEILINGS)
        )
        return cls(files, packs)

    def concerns(self, _: Change, name: str) -> bool:
        """Whether a change in one of the directories matters."""
        path = Path(name)
        return path in self.files or path in self.packs or (path.parent in self.packs and path.suffix == ".toml")

    def directories(self) -> list[Path]:
        """Where to look, as far as it exists."""
        return [directory for directory in {file.parent for file in self.files} | self.packs if directory.is_dir()]


async def changes(watched: Watched) -> AsyncIterator[None]:
    """One item for each change; those that come while the caller is busy are told together. Polls where the system cannot notify."""
    for polling in (None, True):
        watcher = awatch(
            *watched.directories(),
            watch_filter=watched.concerns,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            recursive=False,
            force_polling=polling,
            poll_delay_ms=POLL_MS,
        )
        try:
            async for _ in watcher:
                yield
        except (OSError, RuntimeError) as error:  # such as the limit of inotify watches
            log.warning("files are polled for changes", cause=str(error))
