"""One gate under fuzz: what is sent to it, what comes back, and what must hold of both."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import hpack

from fuzz.cases import Case
from fuzz.cases_http2 import HEADERS, HOST
from fuzz.narrow import Ledger, objection
from hostile.transports import TRANSPORTS, TunnelError, Way
from live.gate import ROOT, Agent, Gate, effectgate, serving
from live.ledger import Pair
from origin.certificates import Authority
from origin.server import opened
from proxy.client import Wire

SECONDS = 5.0  # an answer, or an end, takes no longer
PATIENCE = 1.0  # before the client ends its side of what may still be incomplete
PAUSE = 0.1
AGENTS = 8  # refusals of one principal are receipted one by one up to a rate
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")


@dataclass(frozen=True, slots=True)
class Came:
    """What came back; whether nothing had come in time while the connection stood; whether it ended once this side had."""

    said: bytes
    silent: bool
    ended: bool


@dataclass(slots=True)
class Tally:
    """What has been seen. `findings` are sentences with the number of their case and its bytes."""

    statuses: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    cases: int = 0

    def find(self, of: Case, sentence: str) -> None:
        """Note a fault."""
        self.findings.append(f"case {of.number} over {of.transport}: {sentence}\n    {of.data!r}")


@dataclass(slots=True)
class Bench:
    """A gate, its origins, and how its agents reach it."""

    gate: Gate
    pair: Pair
    ways: list[Way]
    ledger: Ledger
    tally: Tally = field(default_factory=Tally)

    def play(self, of: Case) -> None:
        """Send one case and look at what comes back; twice where the first answer is a failure of ours.

        A busy disk may take longer over one receipt than the gate waits. What the bytes of a case bring about, they do again.
        """
        if self._failed(of):
            self.tally.statuses["played again"] += 1
            if said := self._failed(of):
                self.tally.find(of, f"answered {said[:600]!r}")

    def _failed(self, of: Case) -> bytes:
        """What was said, if a 5xx of ours was in it."""
        way = self.ways[of.number % len(self.ways)]
        try:
            with way.open(TRANSPORTS[of.transport], HOST) as wire:
                came = exchanged(wire, of)
        except (OSError, EOFError, TunnelError) as error:
            self.tally.find(of, f"no connection: {error!r}")
            return b""
        self.tally.cases += 1
        return came.said if self._judge(of, came) else b""

    def _judge(self, of: Case, came: Came) -> bool:
        """Note what is wrong; whether the answer was a failure of ours."""
        http2 = of.transport == "https/2"
        statuses = statuses_http2(came.said) if http2 else [int(code) for code in _STATUS.findall(came.said)]
        for status in statuses or [0]:
            self.tally.statuses[f"{of.transport} {status}"] += 1
        if not came.ended:
            self.tally.find(
                of, f"not ended {SECONDS:g} s after the client had ended its side; said {came.said[:200]!r}"
            )
        if of.complete and came.silent:
            self.tally.find(of, f"a whole head, and neither an answer nor an end in {SECONDS:g} s")
        failed = any(status >= 500 and status != 502 for status in statuses)
        if of.good and not failed and statuses[:1] != [200]:
            self.tally.find(of, f"a good request was answered {came.said[:300]!r}")
        return failed

    def objections(self) -> Iterator[str]:
        """What is wrong with what arrived."""
        yield from self.ledger.objections
        for scheme, origin in (("https", self.pair.secure), ("http", self.pair.plain)):
            for seen in origin.journal.requests():
                if why := objection(seen, scheme):
                    yield f"arrived over {scheme} ({why}): {seen}"

    def verified(self) -> str:
        """What is wrong at the end, or the empty string."""
        if not self.gate.running:
            return f"the process ended:\n{self.gate.log()[-3000:]}"
        for name in ("http", "connect", "https"):
            if (status := self._good(name)) != 200:
                return f"a good request over {name} was answered {status}"
        done = effectgate(
            "receipts", "verify", "--config", str(self.gate.config), "--store", str(self.gate.stores()[0])
        )
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def _good(self, transport: str) -> int:
        at, way = TRANSPORTS[transport], self.ways[0]
        with way.open(at, HOST) as wire:
            target = f"http://{HOST}/items/1" if at.absolute else "/items/1"
            wire.send(f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\n{at.more(way.credential)}\r\n")
            return wire.reply().status


def exchanged(wire: Wire, of: Case) -> Came:
    """Send a case, wait for an answer, end this side, wait for the end."""
    with contextlib.suppress(OSError):
        wire.send(of.data)
    enough = statuses_http2 if of.transport == "https/2" else bool
    said, ended = read(wire, SECONDS if of.complete else PATIENCE, enough)
    silent = not ended and not enough(said)
    with contextlib.suppress(OSError):
        socket.socket.shutdown(wire.sock, socket.SHUT_WR)  # under TLS a FIN without close_notify
    rest, ended = read(wire, SECONDS, lambda data: False)
    return Came(said + rest, silent, ended)


def read(wire: Wire, seconds: float, enough: Callable[[bytes], object]) -> tuple[bytes, bool]:
    """What comes, and whether the connection ended: until then, until the time is over, or it is enough and nothing follows at once."""
    data, end = b"", time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        wire.sock.settimeout(min(left, PAUSE) if enough(data) else left)
        try:
            more = wire.sock.recv(65536)
        except TimeoutError:
            return data, False
        except OSError:
            return data, True
        if not more:
            return data, True
        data += more
    return data, False


def statuses_http2(data: bytes) -> list[int]:
    """The statuses of every HEADERS frame."""
    decoder, found = hpack.Decoder(), list[int]()
    while len(data) >= 9:
        size = int.from_bytes(data[:3], "big")
        if data[3] == HEADERS and len(data) >= 9 + size:
            fields = dict(decoder.decode(data[9 : 9 + size], raw=True))
            found.append(int(fields.get(b":status", b"0")))
        data = data[9 + size :]
    return found


@contextlib.contextmanager
def bench(directory: Path) -> Iterator[Bench]:
    """A gate whose agents hold one narrow effect, before a pair of origins."""
    authority = Authority(directory)
    with opened(authority) as origins:
        pair = Pair.open(origins)
        agents = [Agent(f"fuzz-{number}", ["narrow/read-item"]) for number in range(AGENTS)]
        gate = Gate(directory, packs=[ROOT / "tests" / "data" / "fuzz" / "packs"])
        gate.configure(
            agents, network={"resolve": pair.answering([HOST, "other.narrow.test"]), "upstream_ca": str(authority.pem)}
        )
        with serving(gate):
            ways = [Way(("127.0.0.1", gate.port), gate.door(agent).authorization[1], gate.ca) for agent in agents]
            ledger = Ledger(gate.stores()[0])
            pair.secure.journal.on_head = lambda seen: ledger.arrived(seen, "https")
            pair.plain.journal.on_head = lambda seen: ledger.arrived(seen, "http")
            yield Bench(gate, pair, ways, ledger)
