"""What of an installation a command must not reach: whoever can edit its grant, or what the grant is read by, holds no grant."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from effectgate.config import FILE_NAME, MISSING, PROJECT, Settings, value_at
from effectgate.isolate.places import Protected

PACKAGE = Path(__file__).resolve().parents[1]
# What of `certs:` clients read; the CA's key is not among it.
PUBLIC_CERTS = ("ca.pem", "ca-bundle.pem", "ca-bundle.p12", "receipt-trust.json")
REPOSITORY_PACKS = ".effectgate"


def belongings(settings: Settings, cwd: Path, cache: Path) -> Protected:
    """State, keys, grants, settings and packs, and the cache of checked packs, which is read as it stands.

    The program's own files can be read: a command may need the interpreter that runs us.
    """
    hidden = {"state": settings.state, "grants": settings.grants, "certs": settings.certs}
    hidden |= {f"packs[{place}]": path for place, path in enumerate(settings.packs)}
    optional = dict(_optional(settings, cwd, cache))
    return Protected(
        hidden | optional,
        optional=frozenset(optional),
        shared=frozenset({"cache"}),  # pip, uv, go and many more keep theirs beside ours
        shown=tuple(settings.certs / name for name in PUBLIC_CERTS),
        sealed=(PACKAGE, PROJECT, Path(sys.prefix), Path(sys.base_prefix)),
        absent=dict(_absent(settings)),
    )


def _optional(settings: Settings, cwd: Path, cache: Path) -> Iterator[tuple[str, Path]]:
    if settings.file is not None:
        yield FILE_NAME, settings.file
    if settings.written.network.upstream_ca is not None:
        yield "network.upstream_ca", settings.path(settings.written.network.upstream_ca)
    yield "cache", cache
    yield REPOSITORY_PACKS, cwd / REPOSITORY_PACKS


def _absent(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Without `packs:`, a directory that appears beside the settings would be read in place of the shipped packs."""
    if value_at(settings.document, ("packs",)) is MISSING:
        yield "packs", settings.path("effects")


def unread_settings(settings: Settings, cwd: Path) -> list[Path]:
    """Where a settings file that is not there now would be found by the next start."""
    places = {cwd / FILE_NAME, PROJECT / FILE_NAME, settings.base / FILE_NAME}
    return sorted(place for place in places if not place.exists())
