"""From files to policy: settings, the library of packs and ceilings, and the grants under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from effectgate.config import Settings
from effectgate.packs_io import Library, load_directories
from effectgate.policy.fault import Fault, FaultsError, PatternError
from effectgate.policy.site import Sites

# Where a repository keeps packs of its own. An agent may write there: `serve` reads it only if the operator lists it.
LOCAL_PACKS = Path(".effectgate/effects")


@dataclass(frozen=True, slots=True)
class Override:
    """What the options of one command put in place of the settings; `local` adds the packs of the repository we stand in."""

    packs: tuple[Path, ...] = ()
    sites: Mapping[str, Sequence[str]] = field(default_factory=dict)
    local: bool = False


NO_OVERRIDE = Override()


def read_library(settings: Settings, override: Override = NO_OVERRIDE) -> Library:
    """The packs and ceilings that the settings name. Raises FaultsError with every fault of every file."""
    return load_directories(
        override.packs or settings.packs,
        untrusted=_local_packs(settings) if override.local and not override.packs else (),
        sites=_sites(settings, override),
        exceptions=[(exemption.effect, exemption.within) for exemption in settings.written.exceptions],
    )


def _sites(settings: Settings, override: Override) -> Sites:
    try:
        return Sites.parse({**settings.written.sites, **override.sites})
    except PatternError as error:
        raise FaultsError([Fault("--site", 0, "", error.message, error.fix)]) from error


def _local_packs(settings: Settings) -> Sequence[Path]:
    listed = {directory.resolve() for directory in settings.packs}
    return [LOCAL_PACKS] if LOCAL_PACKS.is_dir() and LOCAL_PACKS.resolve() not in listed else []
