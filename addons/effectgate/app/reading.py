"""From files to policy: settings, the library of packs and ceilings, and the grants under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from effectgate.config import Settings
from effectgate.packs_io import Library, load_directories
from effectgate.policy.fault import Fault, FaultsError, PatternError
from effectgate.policy.grant import Grant
from effectgate.policy.granting import grants_of, token_hashes
from effectgate.policy.site import Sites
from effectgate.strict_yaml import read_yaml

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


@dataclass(frozen=True, slots=True, eq=False)
class Grants:
    """`grants.yaml` read: the grant of each principal, and the hex SHA-256 of its token where the file has one."""

    by_principal: Mapping[str, Grant]
    tokens: Mapping[str, str]


def read_grants(settings: Settings, library: Library, now: datetime) -> Grants:
    """The grants under their ceilings. Raises FaultsError with every fault of the file."""
    document = read_yaml(_text(settings), str(settings.grants))
    grants = grants_of(document, library.catalog, library.ceilings, now)
    return Grants(grants, token_hashes(document))


def _text(settings: Settings) -> str:
    file = settings.grants
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        fix = "write one (docs/grants.md), or let ./run_proxy.sh make a demo one"
        raise FaultsError([Fault(str(file), 0, "", "there is no grants file", fix)]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FaultsError([Fault(str(file), 0, "", f"cannot be read: {error}", "make it a readable UTF-8 file")]) from None
