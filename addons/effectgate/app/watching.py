"""Which files the policy comes from, and when they change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from watchfiles import Change, awatch

from effectgate.config import Settings
from effectgate.pack_sources import CEILINGS

# Editors and deployments write several files for one change.
DEBOUNCE_MS = 300
STEP_MS = 50


async def changes(settings: Settings) -> AsyncIterator[None]:
    """One item for each change of the settings, the grants, the packs and the ceilings.

    Directories are watched, not files: a file put in place by a rename is another file.
    """
    files = {file.resolve() for file in (settings.file, settings.grants) if file is not None}
    packs = {place.resolve() for directory in settings.packs for place in (directory, directory / CEILINGS)}
    directories = {directory for directory in {file.parent for file in files} | packs if directory.is_dir()}

    def concerns(_: Change, name: str) -> bool:
        path = Path(name)
        return path in files or path in packs or (path.parent in packs and path.suffix == ".toml")

    watcher = awatch(*directories, watch_filter=concerns, debounce=DEBOUNCE_MS, step=STEP_MS, recursive=False)
    async for _ in watcher:
        yield
