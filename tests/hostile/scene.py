"""The scene of all cases: one gate, the origins behind it, and what is counted there.

Everything hostile is aimed at names whose origin is the *trap*, where nothing may arrive. Good requests go to other names with
other listeners, so that a count at the trap needs no guessing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hostile.play import GOOD_PATH
from hostile.transports import Way
from live.gate import LONG_AGO, ROOT, Agent, serving
from live.ledger import Pair
from live.watched import WatchedGate
from origin.certificates import Authority
from origin.journal import Seen
from origin.server import Origins

PACKS = ROOT / "tests" / "data" / "hostile" / "packs"
TRAPS = ("api.trap.test", "other.trap.test", "desk.test", "evil.test")
GOODS = ("www.good.test", "api.good.test", "files.good.test")
# More than one agent with the same grant: refusals of one principal are receipted one by one up to 1,000 in a burst.
WIDE = 4
_STRANGERS = {"stranger": "", "wrong": "Basic d2lkZS0wOm5vdC10aGUtdG9rZW4="}


@dataclass(frozen=True, slots=True)
class Scene:
    """A running gate; `agents` by name."""

    gate: WatchedGate
    trap: Pair
    good: Pair
    agents: dict[str, Agent]
    quiet: int  # how many lookups and connects the start itself made

    def way(self, agent: str, number: int = 0) -> Way:
        """How `agent` (of a row) reaches the proxy in case `number`."""
        name = f"wide-{number % WIDE}" if agent == "wide" else agent
        credential = _STRANGERS[name] if name in _STRANGERS else self.gate.door(self.agents[name]).authorization[1]
        return Way(("127.0.0.1", self.gate.port), credential, self.gate.ca)

    def hits(self) -> list[Seen]:
        """Requests at the trap that no good request of a case accounts for."""
        return [seen for seen in self.trap.requests() if not seen.target.startswith(GOOD_PATH.encode())]

    def stray_bytes(self) -> int:
        """Bytes at the plain and TLS traps that belong to no good request."""
        taken = self.trap.secure.journal.received + self.trap.plain.journal.received
        return taken - sum(len(seen.raw) for seen in self.trap.requests())

    def lookups(self) -> list[str]:
        """Names that the proxy has asked about since its start."""
        return [line for line in self.gate.seen()[self.quiet :] if not line.startswith("socket.connect ")]


def _agents() -> list[Agent]:
    good = ["trap/anything", "good/anything", "good/files"]
    return [
        *(Agent(f"wide-{number}", good) for number in range(WIDE)),
        Agent("good", ["good/anything", "good/files"]),
        Agent("narrow", ["desk/read-items", "desk/search", "good/anything"]),
        Agent("expired", ["desk/read-items"], more={"expires": LONG_AGO}),
    ]


@contextmanager
def staged(directory: Path, origins: Origins, authority: Authority) -> Iterator[Scene]:
    """Start the gate and its origins."""
    trap, good = Pair.open(origins), Pair.open(origins)
    agents = _agents()
    gate = WatchedGate(directory, packs=[PACKS])
    answers = trap.answering(TRAPS) | good.answering(GOODS)
    gate.configure(agents, network={"resolve": answers, "upstream_ca": str(authority.pem)})
    with serving(gate, EFFECTGATE_TEST_WATCH=str(gate.watch)):
        yield Scene(gate, trap, good, {agent.name: agent for agent in agents}, len(gate.seen()))
