"""The test catalogue over every transport, and a gate that serves it before two origins."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from live.gate import ROOT, Agent, Gate
from origin.certificates import Authority
from origin.journal import Seen
from origin.plays import echo
from origin.server import Origin, Origins, Play

DATA = ROOT / "tests" / "data" / "live"
HOSTS = ("api.ledger.test", "files.ledger.test", "acme.shop.test", "open.test")


@dataclass(frozen=True, slots=True)
class Pair:
    """The origins of all ledger hosts, with TLS and without."""

    secure: Origin
    plain: Origin

    @classmethod
    def open(cls, origins: Origins, play: Play = echo) -> Pair:
        """Listen on two ports."""
        return cls(origins.open(play), origins.open(play, tls=False))

    @property
    def answers(self) -> dict[str, str]:
        """For `network.resolve`."""
        return self.answering(HOSTS)

    def answering(self, hosts: Sequence[str]) -> dict[str, str]:
        """For `network.resolve`: these hosts are here, on 443 with TLS and on 80 without."""
        secure = {f"{host}:443": self.secure.address for host in hosts}
        return secure | {f"{host}:80": self.plain.address for host in hosts}

    def requests(self) -> list[Seen]:
        """Everything that arrived at either."""
        return self.secure.journal.requests() + self.plain.journal.requests()

    @property
    def accepts(self) -> int:
        """TCP connections at either."""
        return self.secure.journal.accepts + self.plain.journal.accepts


def write_packs(directory: Path) -> Path:
    """The ledger pack for every transport, and its ceiling, in a directory of their own."""
    packs = directory / "packs"
    shutil.copytree(DATA / "packs", packs)
    pack = packs / "ledger.toml"
    pack.write_text(_every_transport(pack.read_text()))
    return packs


def _every_transport(pack: str) -> str:
    """The pack with every shape also for http, and open to websocket handshakes where it has GET."""
    lines = []
    for line in pack.splitlines():
        opened = line.replace("  { ", "  { websocket = true, ") if line.startswith("  { ") and '"GET"' in line else line
        lines.append(opened)
        if line.startswith("  { "):
            lines.append(opened.replace("  { ", '  { scheme = "http", '))
    return "\n".join([*lines, ""])


def ledger_gate[G: Gate](
    kind: type[G], directory: Path, agents: Sequence[Agent], pair: Pair, authority: Authority
) -> G:
    """A gate, not yet started, whose agents may hold ledger effects."""
    gate = kind(directory, packs=[write_packs(directory)])
    gate.configure(agents, network={"resolve": pair.answers, "upstream_ca": str(authority.pem)})
    return gate


@contextlib.contextmanager
def locked(store: Path) -> Iterator[None]:
    """Another program holds the write lock of the store."""
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
