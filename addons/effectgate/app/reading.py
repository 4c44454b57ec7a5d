"""From files to policy: settings, the library of packs and ceilings, and the grants under them.

The readers of packs and grants are imported where they are used: with a cached catalogue `explain` needs neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from effectgate.app.cache import cache_key, read_cache, write_cache
from effectgate.app.shelf import shelved
from effectgate.config import Settings, load_settings, settings_in_spite
from effectgate.pack_sources import Sources, read_sources
from effectgate.policy.catalog import Catalog
from effectgate.policy.fault import Fault, FaultsError, PatternError
from effectgate.policy.grant import Grant
from effectgate.policy.lattice import Ceiling
from effectgate.policy.site import Sites
from effectgate.strict_yaml import read_yaml
from effectgate.text_file import read_text

if TYPE_CHECKING:
    from effectgate.packs_io import Library

# Where a repository keeps packs of its own. An agent may write there: `serve` reads it only if the operator lists it.
LOCAL_PACKS = Path(".effectgate/effects")


@dataclass(frozen=True, slots=True)
class Override:
    """What the options of one command put in place of the settings; `local` adds the packs of the repository we stand in."""

    packs: tuple[Path, ...] = ()
    sites: Mapping[str, Sequence[str]] = field(default_factory=dict)
    local: bool = False


NO_OVERRIDE = Override()


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """What decisions are made of, before any grant. `key` stands for everything that it was made from."""

    catalog: Catalog
    ceilings: Mapping[str, Ceiling]
    key: str


def read_library(settings: Settings, override: Override = NO_OVERRIDE) -> Library:
    """The packs and ceilings that the settings name. Raises FaultsError with every fault of every file."""
    return _library(settings, override, _sources(settings, override))


def _library(settings: Settings, override: Override, sources: Sources) -> Library:
    from effectgate.packs_io import load

    return load(sources, sites=_sites(settings, override), exceptions=_exceptions(settings))


def _key(settings: Settings, override: Override, sources: Sources) -> str:
    """What a policy depends on, and nothing else."""
    return cache_key(sources.digest, repr(_sites(settings, override).facts()), repr(_exceptions(settings)))


def read_policy(settings: Settings, override: Override = NO_OVERRIDE, former: Policy | None = None) -> Policy:
    """The same as catalogue and ceilings alone: `former`, or what the cache has, where it was made from the same files."""
    sources = _sources(settings, override)
    key = _key(settings, override, sources)
    if former is not None and former.key == key:
        return former
    if (kept := read_cache(key)) is not None:
        return Policy(Catalog.build(kept[0]), kept[1], key)
    library = _library(settings, override, sources)
    write_cache(key, ([shelved(effect) for effect in library.catalog.effects.values()], dict(library.ceilings)))
    return Policy(library.catalog, library.ceilings, key)


def _sources(settings: Settings, override: Override) -> Sources:
    local = _local_packs(settings) if override.local and not override.packs else ()
    return read_sources(override.packs or settings.packs, local)


def _exceptions(settings: Settings) -> list[tuple[str, str]]:
    return [(exemption.effect, exemption.within) for exemption in settings.written.exceptions]


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


def read_grants(settings: Settings, policy: Policy, now: datetime, file: Path | None = None) -> Grants:
    """The grants under their ceilings, of `file` in place of the configured one. Raises FaultsError with every fault of it."""
    from effectgate.policy.granting import grants_of
    from effectgate.policy.grants_draft import token_hashes

    file = file or settings.grants
    document = read_yaml(_text(file), str(file))
    grants = grants_of(document, policy.catalog, policy.ceilings, now)
    return Grants(grants, token_hashes(document))


def _text(file: Path) -> str:
    try:
        return read_text(file)
    except FileNotFoundError:
        fix = "write one (docs/grants.md), or let ./run_proxy.sh make a demo one"
        raise FaultsError([Fault(str(file), 0, "", "there is no grants file", fix)]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FaultsError(
            [Fault(str(file), 0, "", f"cannot be read: {error}", "make it a readable UTF-8 file")]
        ) from None


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """One consistent reading of every file. `tokens` are the hashes of `grants.yaml` by principal."""

    settings: Settings
    policy: Policy
    grants: Mapping[str, Grant]
    tokens: Mapping[str, frozenset[str]]


def read_all(option: Path | None, now: datetime, former: Loaded | None = None) -> Loaded:
    """Read settings, packs and grants; the policy of `former` is kept if its files are the same.

    Raises FaultsError with every fault of all files that can be told: broken settings still tell where packs and grants lie, and
    without a catalogue only its names are left unchecked in the grants.
    """
    faults: list[Fault] = []
    if former is not None:
        option = former.settings.file
    settings = _gathered(faults, lambda: _settings(option, former))
    place = settings or settings_in_spite(option)
    policy = grants = None
    if settings is not None or all(directory.is_dir() for directory in place.packs):
        policy = _gathered(faults, lambda: read_policy(place, former=former.policy if former else None))
    if settings is not None or place.grants.is_file():
        # Of settings that cannot be parsed nobody knows which packs the grants speak of.
        known = policy if settings is not None or place.document.value else None
        grants = _gathered(faults, lambda: read_grants(place, known, now) if known else _agents_alone(place))
    if settings is None or policy is None or grants is None:
        raise FaultsError(faults)
    tokens = {name: frozenset({digest}) for name, digest in grants.tokens.items()}
    return Loaded(settings, policy, grants.by_principal, tokens)


def _settings(option: Path | None, former: Loaded | None) -> Settings:
    """Those of the start are read again, or none: a file that has appeared since, on a path of the search, may be anybody's."""
    return former.settings if former is not None and option is None else load_settings(option)


def _gathered[T](faults: list[Fault], read: Callable[[], T]) -> T | None:
    try:
        return read()
    except FaultsError as error:
        faults += error.faults
        return None


def _agents_alone(settings: Settings) -> None:
    """Raise FaultsError with what is wrong in `grants.yaml` whatever the catalogue."""
    from effectgate.policy.grants_draft import read_agents

    if faults := read_agents(read_yaml(_text(settings.grants), str(settings.grants)))[1]:
        raise FaultsError(faults)


def agent_names(settings: Settings) -> list[str]:
    """The agents that `grants.yaml` names, in order; nothing else of the file is checked. Raises FaultsError."""
    value = read_yaml(_text(settings.grants), str(settings.grants)).value
    rows = value.get("agents") if isinstance(value, dict) else None
    return [str(row["name"]) for row in rows or () if isinstance(row, dict) and "name" in row]
