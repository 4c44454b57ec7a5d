"""`effectgate.yaml`: settings, their defaults, and where each came from (design.md section 6)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from effectgate.policy.document import Document, KeyPath, key_text
from effectgate.policy.fault import Fault, FaultsError, PatternError
from effectgate.policy.schema import Table, read_table
from effectgate.setting_values import (
    Address,
    Count,
    EffectId,
    HostPort,
    Listen,
    Name,
    Network,
    PathText,
    Port,
    Seconds,
    SiteAddress,
    StaticAnswer,
    Store,
    Workers,
    parse_address,
)
from effectgate.strict_yaml import read_yaml
from effectgate.text_file import read_text

FILE_NAME = "effectgate.yaml"
ENVIRONMENT = "EFFECTGATE_CONFIG"
# The checkout this package was installed from (editable, by run_proxy.sh).
PROJECT = Path(__file__).resolve().parents[2]
SHIPPED_PACKS = PROJECT / "effects"
# What the other files depend on.
PLACES = ("packs", "grants", "sites", "exceptions")


def _not_empty(names: list[str]) -> list[str]:
    if not names:
        raise PatternError("the list is empty", "name at least one directory, or leave the key out")
    return names


class Api(Table):
    """Where the HTTP API listens; `grpc` is accepted, and served from the boundary release on."""

    http: Listen = "127.0.0.1:4001"
    grpc: Listen = "127.0.0.1:4002"


class Receipts(Table):
    """How much of a path a receipt keeps."""

    path: Literal["full", "template", "hash"] = "full"


class NetworkRules(Table):
    """What may be dialled: ports, private networks, static answers for names, extra trust anchors."""

    ports: list[Port] = Field([80, 443])
    allow_private: list[Network] = Field([])
    resolve: dict[HostPort, StaticAnswer] = Field({})
    upstream_ca: PathText | None = None


class Limits(Table):
    """What clients may take of the proxy, and how long they may take about it; `proxy.settings.Limits` tells of each."""

    connections: Count = 2000
    connections_per_agent: Count = 256
    strangers: Count = 256
    requests_per_agent: Count = 256
    held_bytes: Count = 134_217_728
    held_bytes_per_agent: Count = 33_554_432
    head_seconds: Seconds = 10
    body_seconds: Seconds = 60
    body_bytes: Count = 1024
    read_seconds: Seconds = 60
    idle_seconds: Seconds = 300
    quiet_seconds: Seconds = 600


class Exemption(Table):
    """An accepted containment: `effect` has a shape inside one of the riskier effect `within` of another pack."""

    effect: EffectId
    within: EffectId


class Written(Table):
    """The file as written: every key optional, unknown keys refused."""

    listen: Listen = "127.0.0.1:8080"
    api: Api = Api()
    metrics: Listen = "127.0.0.1:9464"
    packs: Annotated[list[PathText], AfterValidator(_not_empty)] = Field(["effects"])
    grants: PathText = "grants.yaml"
    state: PathText = "var"
    certs: PathText = "certs"
    store: Store = "sqlite"
    sites: dict[Name, list[SiteAddress]] = Field({})
    receipts: Receipts = Receipts()
    workers: Workers = 1
    network: NetworkRules = NetworkRules()
    limits: Limits = Limits()
    exceptions: list[Exemption] = Field([])
    mcp_servers: dict[str, str] = Field({})


# The tables whose keys are ours; `sites` and its kin hold the operator's keys and count as one setting.
TABLES: frozenset[KeyPath] = frozenset({(), ("api",), ("receipts",), ("network",), ("limits",)})


# What a reload takes over; anything else takes effect after a restart.
RELOADED = frozenset({"packs", "grants", "exceptions", "mcp_servers", "network.ports"})

UPSTREAM_CA: KeyPath = ("network", "upstream_ca")
MISSING = object()


def value_at(document: Document, path: KeyPath) -> object:
    """What the file says at a key path, or MISSING."""
    place = document.value
    for key in path:
        if not isinstance(place, dict) or key not in place:
            return MISSING
        place = place[key]
    return place


NOTHING = Document("", {}, lambda path: 0)


@dataclass(frozen=True, slots=True)
class Settings:
    """Checked settings. Relative paths start from `base`; `file` is None where nothing was written."""

    written: Written
    file: Path | None
    base: Path
    document: Document

    def path(self, text: str) -> Path:
        """`text` as an absolute path, relative to the configuration file."""
        return (self.base / Path(text).expanduser()).absolute()

    @property
    def packs(self) -> tuple[Path, ...]:
        """The pack directories, in order; those shipped with us where none are written or lie beside the file."""
        if not self._wrote(("packs",)) and not self.path("effects").is_dir():
            return (SHIPPED_PACKS,)
        return tuple(map(self.path, self.written.packs))

    @property
    def grants(self) -> Path:
        """The grants file."""
        return self.path(self.written.grants)

    @property
    def state(self) -> Path:
        """The directory of receipts and keys."""
        return self.path(self.written.state)

    @property
    def certs(self) -> Path:
        """The directory of our CA and of `receipt-trust.json`."""
        return self.path(self.written.certs)

    @property
    def listen(self) -> Address:
        """Where agents reach the proxy."""
        return parse_address(self.written.listen)

    def fixed_changes(self, former: Settings) -> Iterator[str]:
        """The keys that differ from `former` and that a running service cannot take over."""
        before = {key: value for key, value, _ in former.origins()}
        for key, value, _ in self.origins():
            if value != before[key] and key not in RELOADED:
                yield key

    def origins(self) -> Iterator[tuple[str, object, str]]:
        """Every setting as (key, value, where it came from): ``default`` or ``FILE:LINE``."""
        for path, value in _leaves(self.written.model_dump(), ()):
            origin = f"{self.file}:{self.document.line_of(path)}" if self._wrote(path) else "default"
            yield key_text(path), value, origin

    def _wrote(self, path: KeyPath) -> bool:
        return value_at(self.document, path) is not MISSING


def deciding(settings: Settings) -> tuple[Path, ...]:
    """Every file and directory of ours by which a grant is read and kept."""
    anchors = settings.written.network.upstream_ca
    files = (settings.file, settings.path(anchors) if anchors is not None else None)
    present = tuple(file for file in files if file is not None)
    return (*present, settings.grants, settings.state, settings.certs, *settings.packs)


def _leaves(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    if isinstance(value, dict) and path in TABLES:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    else:
        yield path, value


def find_file(option: Path | None) -> Path | None:
    """`--config`, else $EFFECTGATE_CONFIG, else ./effectgate.yaml, else the checkout's; None where none exists."""
    if option is not None:
        return option
    if named := os.environ.get(ENVIRONMENT):
        return Path(named)
    return next((file for file in (Path(FILE_NAME), PROJECT / FILE_NAME) if os.path.lexists(file)), None)


def load_settings(option: Path | None = None) -> Settings:
    """Read and check the settings. Raises FaultsError with every fault of the file; without a file all is default."""
    file = find_file(option)
    if file is None:
        return Settings(Written(), None, PROJECT if SHIPPED_PACKS.is_dir() else Path.cwd(), NOTHING)
    try:
        text = read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise FaultsError([Fault(str(file), 0, "", f"cannot be read ({reason})", "name a readable file")]) from error
    return parse_settings(text, file)


def settings_in_spite(option: Path | None = None) -> Settings:
    """The settings of a file at fault, as far as they tell where packs and grants lie: so that those can be checked as well."""
    file = find_file(option)
    if file is None:
        return load_settings(None)
    try:
        document = read_yaml(read_text(file), str(file))
    except (FaultsError, ValueError, OSError):
        document = NOTHING
    sound = {key: value_at(document, (key,)) for key in PLACES if _sound(document, key)}
    return Settings(Written.model_validate(sound), file.absolute(), file.absolute().parent, document)


def _sound(document: Document, key: str) -> bool:
    value = value_at(document, (key,))
    return value is not MISSING and not read_table(Written, document, {key: value})[1]


def parse_settings(text: str, file: Path) -> Settings:
    """Check the text of a settings file. Raises FaultsError."""
    document = read_yaml(text, str(file))
    base = file.absolute().parent
    written, faults = read_table(Written, document, document.value)
    faults += _missing_files(document, base)
    if faults or written is None:
        raise FaultsError(faults)
    return Settings(written, file.absolute(), base, document)


def _missing_files(document: Document, base: Path) -> Iterator[Fault]:
    anchors = value_at(document, UPSTREAM_CA)
    if isinstance(anchors, str) and not (base / anchors).is_file():
        fix = "name a PEM file; a relative path starts from this file"
        yield document.fault(UPSTREAM_CA, f"no file at {base / anchors}", fix)
