"""One table of decisions, asked over every transport and of `explain --batch`: the answers are the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from live.ask import HANDSHAKE, HANDSHAKES, PLAIN, TRANSPORTS, Answer, Request
from live.gate import LONG_AGO, Agent, Gate, effectgate, serving
from live.ledger import DATA, Pair, ledger_gate, write_packs
from origin.certificates import Authority
from origin.server import Origins

ROWS: list[dict[str, Any]] = [json.loads(line) for line in (DATA / "decisions.jsonl").read_text().splitlines()]


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


@pytest.fixture(scope="module")
def agents() -> dict[tuple[str, ...], Agent]:
    """One agent for each set of effects in the table; the empty set is a grant that has run out."""
    sets = dict.fromkeys(tuple(row["effects"]) for row in ROWS)
    return {effects: _agent(f"agent-{number}", effects) for number, effects in enumerate(sets)}


def _agent(name: str, effects: tuple[str, ...]) -> Agent:
    if effects:
        return Agent(name, effects)
    return Agent(name, ["ledger/read-items"], more={"expires": LONG_AGO})


@pytest.fixture(scope="module")
def pair(origins: Origins) -> Pair:
    return Pair.open(origins)


@pytest.fixture(scope="module")
def gate(
    tmp_path_factory: pytest.TempPathFactory, agents: dict[tuple[str, ...], Agent], pair: Pair, authority: Authority
) -> Iterator[Gate]:
    with serving(ledger_gate(Gate, tmp_path_factory.mktemp("table"), list(agents.values()), pair, authority)) as gate:
        yield gate


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Answer]:
    """What `explain --batch` says, by place in ASKED."""
    lines = "".join(json.dumps(asked.line) + "\n" for asked in ASKED)
    packs = write_packs(tmp_path_factory.mktemp("explain"))
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
    asked: Asked, gate: Gate, agents: dict[tuple[str, ...], Agent], pair: Pair
) -> None:
    before = len(pair.requests())
    response = TRANSPORTS[asked.transport](gate.door(agents[tuple(asked.row["effects"])]), asked.request)
    assert Answer.told(response) == Answer.read(asked.row), response
    assert len(pair.requests()) - before == (asked.row["verdict"] == "ALLOW")
