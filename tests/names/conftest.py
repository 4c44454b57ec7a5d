"""What the tests of naming share: origins, a counted nameserver, and one `serve` that may dial loopback."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from live.ask import Request, plain
from live.gate import Agent, serving
from live.wire import Response
from names.gate import NamedGate
from names.nameserver import Nameserver
from origin.certificates import Authority
from origin.journal import Journal
from origin.plays import echo
from origin.server import Origin, opened

AGENT = Agent("namer", ["names/read"])
# PORT: the origin's. Every host below names.test, over plain HTTP, so that the journal counts requests and connections alike.
PACK = """
[plugin]
name = "names"
version = 1

[[effect]]
id = "read"
title = "Read anything below names.test"
risk = "read"
[effect.lowers]
operations = ["web_fetch"]
sinks = ["http_egress"]
hosts = ["*.names.test", "names.invalid", "names.onion", "names.local", "names.internal", "xn--nmes-loa.test", "localhost", "@single"]
[effect.matches]
http = [
  { method = "GET", scheme = "http", ports = [PORT], host = "*.names.test", path = "/*" },
  { method = "GET", scheme = "http", ports = [PORT], host = "names.invalid", path = "/*" },
  { method = "GET", scheme = "http", ports = [PORT], host = "names.onion", path = "/*" },
  { method = "GET", scheme = "http", ports = [PORT], host = "names.local", path = "/*" },
  { method = "GET", scheme = "http", ports = [PORT], host = "names.internal", path = "/*" },
  { method = "GET", scheme = "http", ports = [PORT], host = "xn--nmes-loa.test", path = "/*" },
]
"""
CEILING = 'title = "Reading"\nmax_risk = "read"\n[operations]\nweb_fetch = "low_risk"\n'


@dataclass(frozen=True, slots=True)
class Scene:
    """A gate, its nameserver, and the origin on 127.0.0.1 that every name leads to if its answer does."""

    gate: NamedGate
    dns: Nameserver
    origin: Origin

    @property
    def journal(self) -> Journal:
        """What the origin was sent."""
        return self.origin.journal

    def get(self, host: str, path: str = "/x") -> Response:
        """One GET, in absolute form."""
        return plain(self.gate.door(AGENT), Request("GET", f"http://{host}:{self.origin.port}{path}"))

    def completion(self) -> dict[str, object]:
        """The `output` of the latest completion receipt."""
        done = [receipt for receipt in self.gate.receipts() if receipt["kind"] == "completion"]
        output: dict[str, object] = done[-1]["output"]
        return output


def write_pack(directory: Path, port: int) -> Path:
    """The pack for an origin on `port`, and its ceiling."""
    packs = directory / "packs"
    (packs / "ceilings").mkdir(parents=True)
    (packs / "ceilings" / "live-tests.toml").write_text(CEILING)
    (packs / "names.toml").write_text(PACK.replace("PORT", str(port)).replace(', "localhost", "@single"', ""))
    return packs


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """`allow_private` covers 127.0.0.1 and nothing else."""
    directory = tmp_path_factory.mktemp("naming")
    (directory / "authority").mkdir()
    with opened(Authority(directory / "authority")) as origins, Nameserver() as dns:
        origin = origins.open(echo, tls=False)
        gate = NamedGate(directory, dns, packs=[write_pack(directory, origin.port)])
        gate.configure([AGENT], network={"ports": [origin.port], "allow_private": ["127.0.0.1/32"]})
        with serving(gate):
            yield Scene(gate, dns, origin)
