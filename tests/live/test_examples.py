"""The admits and denies rows of every shipped pack, asked of a live gate: facts from the wire are facts from the page."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from live.ask import Answer, Request
from live.gate import LONG_AGO, ROOT, Agent, Gate, serving
from live.ledger import DATA
from live.wire import Door, exchange
from origin.certificates import Authority
from origin.plays import echo
from origin.server import Origins

PACKS = sorted((ROOT / "effects").glob("*.toml"))
# Of a large pack, rows evenly apart; tests/catalog asks all of them, of the same decision and without the wire.
AT_MOST = 60
SITES = {name: [f"{name}.example:443"] for name in ("jira", "kubernetes")}


@dataclass(frozen=True, slots=True)
class Row:
    """One example that is an HTTP request."""

    grant: tuple[str, ...]
    request: Request
    expect: str
    effect: str | None

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Row:
        """From `[[example]]`."""
        method, url = table["request"].split(" ", 1)
        body = table.get("body", table.get("data", ""))
        request = Request(method, url, list(table.get("headers", {}).items()), body.encode())
        return cls(tuple(table["grant"]), request, table["expect"], table.get("effect"))

    @property
    def group(self) -> tuple[tuple[str, ...], str]:
        """Rows of one grant and host go over one connection."""
        return self.grant, self.request.where(443)

    def holds(self, answer: Answer) -> bool:
        """Whether the answer is the one that the pack promises."""
        if self.expect == "allow":
            return answer.verdict == "ALLOW" and self.effect in (None, answer.effect)
        named = [proposal.split(" + ")[0] for proposal in answer.would_admit]
        return answer.verdict != "ALLOW" and (
            self.effect is None or (self.effect in named if self.effect else not named)
        )


def _rows(pack: Path) -> list[Row]:
    tables = tomllib.loads(pack.read_text()).get("example", [])
    rows = [Row.of(table) for table in tables if table["request"].partition(" ")[2].startswith("https://")]
    return sorted(rows[:: len(rows) // AT_MOST + 1], key=lambda row: row.group)


def _tenants() -> dict[str, set[str]]:
    """The tenant parameters of each effect: a grant must scope them, which examples do not write."""
    return {
        f"{pack.stem}/{effect['id']}": {
            name for shape in effect.get("matches", {}).get("http", []) for name in shape.get("tenant", [])
        }
        for pack in PACKS
        for effect in tomllib.loads(pack.read_text())["effect"]
    }


TENANTS = _tenants()
ROWS = {pack.stem: _rows(pack) for pack in PACKS}


def _entry(effect: str) -> str | dict[str, object]:
    tenants = TENANTS[effect]
    return {"effect": effect, "where": dict.fromkeys(sorted(tenants), "*")} if tenants else effect


@pytest.fixture(scope="module")
def agents() -> dict[tuple[str, ...], Agent]:
    """One agent for each grant of the examples; an empty one has run out."""
    grants = dict.fromkeys(row.grant for rows in ROWS.values() for row in rows)
    return {
        grant: Agent(
            f"agent-{number}", [*map(_entry, grant)] or ["web/search"], more={} if grant else {"expires": LONG_AGO}
        )
        for number, grant in enumerate(grants)
    }


@pytest.fixture(scope="module")
def gate(
    tmp_path_factory: pytest.TempPathFactory,
    agents: dict[tuple[str, ...], Agent],
    origins: Origins,
    authority: Authority,
) -> Iterator[Gate]:
    origin = origins.open(echo)
    hosts = {row.request.where(443).lower() for rows in ROWS.values() for row in rows}
    gate = Gate(tmp_path_factory.mktemp("examples"), packs=[ROOT / "effects", DATA / "packs"])
    network = {"resolve": dict.fromkeys(sorted(hosts), origin.address), "upstream_ca": str(authority.pem)}
    gate.configure(list(agents.values()), network=network, sites=SITES)
    with serving(gate):
        yield gate


def _ask(door: Door, authority: str, rows: Sequence[Row]) -> Iterator[tuple[Row, Answer]]:
    """The rows in order, each on the connection of the one before it while that stays open."""
    left = list(rows)
    while left:
        with door.secure(authority) as connection:
            again = True
            while left and again:
                row = left.pop(0)
                response = exchange(connection, row.request.origin_form)
                yield row, Answer.told(response)
                again = response.headers.get("connection", "").lower() != "close"


@pytest.mark.parametrize("pack", [name for name, rows in ROWS.items() if rows])
def test_the_examples_of_a_pack_hold_on_the_wire(gate: Gate, agents: dict[tuple[str, ...], Agent], pack: str) -> None:
    wrong = [
        (row.request.method, row.request.url, row.grant, row.expect, row.effect, answer)
        for (grant, authority), rows in itertools.groupby(ROWS[pack], lambda row: row.group)
        for row, answer in _ask(gate.door(agents[grant]), authority, list(rows))
        if not row.holds(answer)
    ]
    assert not wrong, wrong
