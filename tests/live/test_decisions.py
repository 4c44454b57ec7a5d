"""One table of decisions, asked over every transport and of `explain --batch`: the answers are the same."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from live.ask import HANDSHAKE, HANDSHAKES, PLAIN, TRANSPORTS, Answer, Request
from live.gate import ROOT, Agent, Gate, effectgate, serving
from origin.certificates import Authority
from origin.plays import echo
from origin.server import Origin, Origins

DATA = ROOT / "tests" / "data" / "live"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in (DATA / "decisions.jsonl").read_text().splitlines()]
HOSTS = ("api.ledger.test", "files.ledger.test", "acme.shop.test", "open.test")


@dataclass(frozen=True, slots=True)
class Asked:
    """One row over one transport."""

    row: dict[str, Any]
    transport: str

    @property
    def request(self) -> Request:
        """What to send."""
        body = self.row["body"] + "x" * self.row.get("pad", 0)
        return Request(self.row["method"], self.row["url"], list(self.row["headers"].items()), body.encode())

    @property
    def line(self) -> dict[str, Any]:
        """The same for `explain --batch`."""
        request = self.request
        url = request.url.replace("https://", "http://") if self.transport in PLAIN else request.url
        headers = dict([*request.headers, *(HANDSHAKE if self.transport in HANDSHAKES else ())])
        known = {"method": request.method, "url": url, "headers": headers, "effects": self.row["effects"]}
        return known | ({"body": request.body.decode()} if request.body else {})


def _transports(row: dict[str, Any]) -> Sequence[str]:
    handshake = row["method"] == "GET" and not row["body"]
    return row.get("on") or [name for name in TRANSPORTS if handshake or name not in HANDSHAKES]


ASKED = [Asked(row, transport) for row in ROWS for transport in _transports(row)]


def _every_transport(pack: str) -> str:
    """The pack with every shape also for http, and open to websocket handshakes where it has GET."""
    lines = []
    for line in pack.splitlines():
        opened = line.replace("  { ", "  { websocket = true, ") if line.startswith("  { ") and '"GET"' in line else line
        lines.append(opened)
        if line.startswith("  { "):
            lines.append(opened.replace("  { ", '  { scheme = "http", '))
    return "\n".join(lines)


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ledger") / "packs"
    shutil.copytree(DATA / "packs", directory)
    (directory / "ledger.toml").write_text(_every_transport((DATA / "packs" / "ledger.toml").read_text()))
    return directory


@pytest.fixture(scope="module")
def agents() -> dict[tuple[str, ...], Agent]:
    """One agent for each set of effects in the table; the empty set is a grant that has run out."""
    sets = dict.fromkeys(tuple(row["effects"]) for row in ROWS)
    return {effects: _agent(f"agent-{number}", effects) for number, effects in enumerate(sets)}


def _agent(name: str, effects: tuple[str, ...]) -> Agent:
    if effects:
        return Agent(name, effects)
    return Agent(name, ["ledger/read-items"], more={"expires": "2020-01-01T00:00:00Z"})


@pytest.fixture(scope="module")
def played(origins: Origins) -> tuple[Origin, Origin]:
    return origins.open(echo), origins.open(echo, tls=False)


@pytest.fixture(scope="module")
def gate(
    tmp_path_factory: pytest.TempPathFactory,
    packs: Path,
    agents: dict[tuple[str, ...], Agent],
    played: tuple[Origin, Origin],
    authority: Authority,
) -> Iterator[Gate]:
    secure, open_ = played
    answers = {f"{host}:443": secure.address for host in HOSTS} | {f"{host}:80": open_.address for host in HOSTS}
    gate = Gate(tmp_path_factory.mktemp("gate"), packs=[packs])
    network = {"resolve": answers, "upstream_ca": str(authority.pem)}
    gate.configure(list(agents.values()), network=network)
    with serving(gate):
        yield gate


@pytest.fixture(scope="module")
def explained(packs: Path) -> dict[int, Answer]:
    """What `explain --batch` says, by place in ASKED."""
    lines = "".join(json.dumps(asked.line) + "\n" for asked in ASKED)
    run = effectgate("explain", "--batch", "--packs", str(packs), stdin=lines)
    assert run.returncode == 0, run.stderr
    return dict(enumerate(Answer.read(json.loads(line)) for line in run.stdout.splitlines()))


def test_the_table_is_large_enough() -> None:
    assert len(ROWS) >= 40
    assert {asked.transport for asked in ASKED} == set(TRANSPORTS)


@pytest.mark.parametrize("place", range(len(ASKED)), ids=[f"{a.row['name']} - {a.transport}" for a in ASKED])
def test_explain_answers_as_the_table(place: int, explained: dict[int, Answer]) -> None:
    assert explained[place] == Answer.read(ASKED[place].row)


@pytest.mark.parametrize("asked", ASKED, ids=[f"{a.row['name']} - {a.transport}" for a in ASKED])
def test_the_proxy_answers_as_the_table(
    asked: Asked, gate: Gate, agents: dict[tuple[str, ...], Agent], played: tuple[Origin, Origin]
) -> None:
    before = sum(len(origin.journal.requests()) for origin in played)
    response = TRANSPORTS[asked.transport](gate.door(agents[tuple(asked.row["effects"])]), asked.request)
    assert Answer.told(response) == Answer.read(asked.row), response
    reached = sum(len(origin.journal.requests()) for origin in played) - before
    assert reached == (asked.row["verdict"] == "ALLOW")
