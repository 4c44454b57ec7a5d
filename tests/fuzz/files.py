"""What must hold for any bytes as a pack, as grants.yaml, or as a receipt's JSON."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import rfc8785

from effectgate.packs_io import Library, Source, Sources, load
from effectgate.policy.fault import Fault, FaultsError
from effectgate.policy.granting import grants_of
from effectgate.policy.grants_draft import token_hashes
from effectgate.receipts.canonical import CanonicalError, canonical, parse
from effectgate.strict_yaml import read_yaml
from policy.library import effect, sources

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ROW = '{{ method = "{}", host = "api.example.com", path = "/items/{{id}}" }}'
PACK = effect("read", "read", ROW.format("GET")) + effect("wipe", "destructive", ROW.format("DELETE"))
CEILINGS = {"read-only": 'title = "Read"\nmax_risk = "read"\n[operations]\nweb_fetch = "low_risk"\n'}
LIBRARY: Library = load(sources({"demo": PACK}, CEILINGS))


def check_pack(data: bytes) -> None:
    """A pack, or faults that each say where they are and what to do; a pack read again is the same one."""
    files = Sources((Source("demo.toml", "demo", data.decode("utf-8", "replace"), True),), ())
    try:
        digest = load(files).catalog.digest
    except FaultsError as error:
        told(error.faults)
        return
    assert load(files).catalog.digest == digest


def check_grants(data: bytes) -> None:
    """Grants within their ceiling, or faults that each say where they are and what to do."""
    try:
        document = read_yaml(data.decode("utf-8", "replace"), "grants.yaml")
        token_hashes(document)
        grants = grants_of(document, LIBRARY.catalog, LIBRARY.ceilings, NOW)
    except FaultsError as error:
        told(error.faults)
        return
    assert all(set(grant.entries) <= {"demo/read"} for grant in grants.values())


def told(faults: Iterable[Fault]) -> None:
    """Every fault has a file, says what is wrong, and what to do."""
    for fault in faults:
        assert fault.file, fault
        assert fault.message, fault
        assert fault.fix, fault


def check_canonical(data: bytes) -> None:
    """A value whose canonical bytes are those of RFC 8785 and are read back as the same value, or CanonicalError."""
    try:
        value = parse(data)
    except CanonicalError:
        return
    try:
        once = canonical(value)
    except CanonicalError as error:
        assert error.kind == "text", error.kind  # noqa: PT017  (a lone surrogate is the one thing that JSON can say and UTF-8 cannot)
        return
    assert once == rfc8785.dumps(value)  # type: ignore[arg-type]
    assert parse(once) == value
