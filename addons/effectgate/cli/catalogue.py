"""What the commands that read packs share: their options, and the catalogue that these lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli.output import CommandError

if TYPE_CHECKING:
    from effectgate.app.reading import Override, Policy
    from effectgate.config import Settings
    from effectgate.packs_io import Library
    from effectgate.policy.grant import Grant

PacksOption = Annotated[
    list[Path] | None, typer.Option("--packs", metavar="DIR", help="Read these packs instead of the configured ones.")
]
SiteOption = Annotated[
    list[str] | None, typer.Option("--site", metavar="NAME=HOST", help="Where a self-hosted service lives.")
]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The settings of a command and the policy that they lead to."""

    settings: Settings
    policy: Policy

    def grant_of_ids(self, ids: Iterable[str]) -> Grant:
        """The grant of bare ids: no ceiling, limit or expiry."""
        from effectgate.policy.grant import UnknownEffectError, grant_of_ids

        try:
            return grant_of_ids(self.policy.catalog, ids)
        except UnknownEffectError as error:
            raise CommandError(error.message, error.fix) from error

    def grants(self, file: Path | None = None) -> Mapping[str, Grant]:
        """The grants of `grants.yaml`, or of another such file, by principal."""
        from effectgate.app.reading import read_grants

        return read_grants(self.settings, self.policy, datetime.now(UTC), file).by_principal

    def grant_of_agent(self, name: str) -> Grant:
        """The grant of one agent."""
        grants = self.grants()
        if name not in grants:
            known = ", ".join(grants) or "none"
            raise CommandError(f"there is no agent {name} in {self.settings.grants}", f"its agents are: {known}")
        return grants[name]


def open_catalogue(
    config: Path | None, packs: Iterable[Path] | None = None, sites: Iterable[str] | None = None
) -> Catalogue:
    """Read settings and packs; the packs of the repository we stand in are among them unless `packs` names others."""
    from effectgate.app.reading import read_policy
    from effectgate.config import load_settings

    settings = load_settings(config)
    return Catalogue(settings, read_policy(settings, _override(packs, sites)))


def open_library(
    config: Path | None, packs: Iterable[Path] | None = None, sites: Iterable[str] | None = None
) -> Library:
    """The same with every pack as it is written; never from the cache."""
    from effectgate.app.reading import read_library
    from effectgate.config import load_settings

    return read_library(load_settings(config), _override(packs, sites))


def site_names(library: Library) -> list[str]:
    """The sites that some effect speaks of."""
    hosts = {host for effect in library.catalog.effects.values() for host in effect.hosts}
    return sorted(host.removeprefix("@") for host in hosts if host.startswith("@"))


def _override(packs: Iterable[Path] | None, sites: Iterable[str] | None) -> Override:
    from effectgate.app.reading import Override

    return Override(tuple(packs or ()), _sites(sites or ()), local=True)


def _sites(options: Iterable[str]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for option in options:
        name, equals, host = option.partition("=")
        if not equals or not name or not host:
            raise CommandError(
                f"--site {option!r} is not NAME=HOST", "write --site kubernetes=k8s.example.internal:6443"
            )
        out.setdefault(name.removeprefix("@"), []).append(host)
    return out


def read_ids(text: str) -> list[str]:
    """The effect ids of `a,b` or of `@FILE` (separated by commas, spaces or lines)."""
    if text.startswith("@"):
        text = read_argument(text)
    return [name for name in text.replace(",", " ").split() if name]


def read_argument(text: str) -> str:
    """An argument that may be `@FILE`."""
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise CommandError(f"{text[1:]} cannot be read ({cause})", "name a readable UTF-8 file after the @") from error
