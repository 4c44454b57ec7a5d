"""From files to policy: settings, the library of packs and ceilings, and the grants under them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from effectgate.config import Settings, load_settings
from effectgate.packs_io import Library, load_directories
from effectgate.policy.site import Sites

# Where a repository keeps packs of its own. An agent may write there: `serve` reads it only if the operator lists it.
LOCAL_PACKS = Path(".effectgate/effects")


@dataclass(frozen=True, slots=True)
class Override:
    """What the options of one command put in place of the settings."""

    packs: tuple[Path, ...] = ()
    sites: Mapping[str, Sequence[str]] | None = None


NO_OVERRIDE = Override()


def read_library(settings: Settings, override: Override = NO_OVERRIDE, *, local: bool = False) -> Library:
    """The packs and ceilings that the settings name. `local`: with the packs of the repository we stand in.

    Raises FaultsError with every fault of every file, PatternError for a wrong site.
    """
    sites = {**settings.written.sites, **(override.sites or {})}
    exemptions = [(exemption.effect, exemption.within) for exemption in settings.written.exceptions]
    return load_directories(
        override.packs or settings.packs,
        untrusted=_local_packs(settings) if local and not override.packs else (),
        sites=Sites.parse(sites),
        exceptions=exemptions,
    )


def _local_packs(settings: Settings) -> Iterable[Path]:
    listed = {directory.resolve() for directory in settings.packs}
    return [LOCAL_PACKS] if LOCAL_PACKS.is_dir() and LOCAL_PACKS.resolve() not in listed else []


def read_settings(config: Path | None) -> Settings:
    """The settings of a command; raises FaultsError."""
    return load_settings(config)
