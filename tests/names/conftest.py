"""What the tests of naming share: origins, a counted nameserver, and one `serve` that may dial loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from live.ask import Request, plain
from live.gate import Agent, Gate, serving, wait
from live.wire import Response
from names.gate import NamedGate
from names.nameserver import Nameserver
from origin.certificates import Authority
from origin.journal import Journal
from origin.plays import echo
from origin.server import Origin, opened

AGENT = Agent("namer", ["names/read"])
# What may be asked for, over plain HTTP, so that the origin's journal counts requests and connections alike.
HOSTS = (
    "*.names.test", "names.invalid", "names.onion", "names.alt", "names.local", "names.internal", "xn--nmes-loa.test", "names.localhost",
    "127.0.0.1", "127.0.0.9", "0.0.0.0", "169.254.169.254", "10.0.0.1",
)  # fmt: skip
PACK = """
[plugin]
name = "names"
version = 1

[[effect]]
id = "read"
title = "Read what names lead to"
risk = "read"
[effect.lowers]
operations = ["web_fetch"]
sinks = ["http_egress"]
hosts = {hosts}
[effect.matches]
http = [
{shapes}
]
"""
SHAPE = '  {{ method = "GET", scheme = "http", ports = {ports}, host = "{host}", path = "/*" }},'
CEILING = 'title = "Reading"\nmax_risk = "read"\n[operations]\nweb_fetch = "low_risk"\n'


@dataclass(frozen=True, slots=True)
class Scene[G: Gate]:
    """A gate, its nameserver, and the origin on 127.0.0.1 that every name leads to if its answer does."""

    gate: G
    dns: Nameserver
    origin: Origin

    @property
    def journal(self) -> Journal:
        """What the origin was sent."""
        return self.origin.journal

    def get(self, host: str, port: int = 0) -> Response:
        """One GET in absolute form, of the origin's port unless another is named."""
        return plain(self.gate.door(AGENT), Request("GET", f"http://{host}:{port or self.origin.port}/x"))

    def completion(self, response: Response) -> dict[str, Any]:
        """The `output` of the receipt that completes the ALLOW of this response."""
        allow = response.headers["x-effectgate-receipt"]

        def found() -> list[dict[str, Any]]:
            receipts = self.gate.receipts()
            return [
                one["output"] for one in receipts if one["kind"] == "completion" and one["args"]["completes"] == allow
            ]

        assert wait(lambda: bool(found()))
        (output,) = found()
        return output


Named = Scene[NamedGate]


def write_pack(packs: Path, ports: Sequence[int]) -> None:
    """The pack for origins on these ports, and its ceiling."""
    (packs / "ceilings").mkdir(parents=True)
    (packs / "ceilings" / "live-tests.toml").write_text(CEILING)
    shapes = "\n".join(SHAPE.format(ports=list(ports), host=host) for host in HOSTS)
    (packs / "names.toml").write_text(PACK.format(hosts=json.dumps(HOSTS), shapes=shapes))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Named]:
    """`allow_private` covers 127.0.0.1 and nothing else; our own ports are among those that may be asked for."""
    directory = tmp_path_factory.mktemp("naming")
    (directory / "authority").mkdir()
    with opened(Authority(directory / "authority")) as origins, Nameserver() as dns:
        origin = origins.open(echo, tls=False)
        gate = NamedGate(directory, dns, packs=[directory / "packs"])
        ports = [origin.port, *gate.ports]
        write_pack(directory / "packs", ports)
        static = {f"static.names.test:{origin.port}": origin.address}
        gate.configure([AGENT], network={"ports": ports, "allow_private": ["127.0.0.1/32"], "resolve": static})
        with serving(gate):
            yield Scene(gate, dns, origin)
