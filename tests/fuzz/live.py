"""Fuzzing a running `effectgate serve`: `python -m fuzz.live --seconds 600 [--seed N] [--only NUMBER]` (README.md).

Agents hold one narrow effect. Whatever is sent: only what that effect means may arrive at the origin, each with its ALLOW on disk;
no 5xx but 502; an answer or a close in time; the process lives; its receipts verify; good requests are served.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import hpack

from fuzz.cases import HEADERS, HOST, Case, case
from fuzz.narrow import Ledger, objection
from hostile.rows import load
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
# Heads of the hostile rows, with their places in them; each was refused as it stands.
HOSTILE = sorted(
    {
        row.steps[0].send.replace("{it}", row.it)
        for row in load()
        if {"http", "connect", "https"} & set(row.on) and "{[" not in row.steps[0].send + row.it
    }
)
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")


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
        """Send one case and look at what comes back."""
        way = self.ways[of.number % len(self.ways)]
        try:
            with way.open(TRANSPORTS[of.transport], HOST) as wire:
                said, ended = exchanged(wire, of)
        except (OSError, EOFError, TunnelError) as error:
            self.tally.find(of, f"no connection: {error!r}")
            return
        self.tally.cases += 1
        self._judge(of, said, ended)

    def _judge(self, of: Case, said: bytes, ended: bool) -> None:
        statuses = statuses_http2(said) if of.transport == "https/2" else [int(code) for code in _STATUS.findall(said)]
        for status in statuses or [0]:
            self.tally.statuses[f"{of.transport} {status}"] += 1
        if any(status >= 500 and status != 502 for status in statuses):
            self.tally.find(of, f"answered {said[:600]!r}")
        if not ended:
            self.tally.find(of, f"not ended {SECONDS:g} s after the client had ended its side; said {said[:200]!r}")
        if of.complete and not statuses and not ended:
            self.tally.find(of, "a whole head and no answer")
        if of.good and statuses[:1] != [200]:
            self.tally.find(of, f"a good request was answered {said[:300]!r}")

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


def exchanged(wire: Wire, of: Case) -> tuple[bytes, bool]:
    """What was said, and whether the connection ended in time once this side had."""
    with contextlib.suppress(OSError):
        wire.send(of.data)
    said = read(wire, SECONDS if of.complete else PATIENCE, statuses_http2 if of.transport == "https/2" else bool)
    with contextlib.suppress(OSError):
        socket.socket.shutdown(wire.sock, socket.SHUT_WR)  # under TLS a FIN without close_notify
    begun = time.monotonic()
    said += read(wire, SECONDS, lambda data: False)
    return said, time.monotonic() - begun < SECONDS


def read(wire: Wire, seconds: float, enough: Callable[[bytes], object]) -> bytes:
    """Everything until the end of the connection or of the time, or until it is enough and nothing follows at once."""
    data, end = b"", time.monotonic() + seconds
    with contextlib.suppress(OSError):
        while (left := end - time.monotonic()) > 0:
            wire.sock.settimeout(min(left, PAUSE) if enough(data) else left)
            more = wire.sock.recv(65536)
            if not more:
                break
            data += more
    return data


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


def fuzz(on: Bench, seed: int, numbers: Iterator[int], seconds: float, threads: int = 6) -> None:
    """Play cases until the time or the numbers are over, or there is enough to look at."""
    lock, end = threading.Lock(), time.monotonic() + seconds

    def work() -> None:
        while time.monotonic() < end and len(on.tally.findings) < 20:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            on.play(case(seed, number, on.ways[number % len(on.ways)].credential, HOSTILE))

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work) for _ in range(threads)]:
            done.result()


def faults(on: Bench) -> list[str]:
    """Everything that was wrong."""
    wrong = [*on.tally.findings, *on.objections()]
    return [*wrong, end] if (end := on.verified()) else wrong


def main() -> int:
    """Fuzz, report, and say by the exit code whether all was well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    numbers = iter([given.only] if given.only is not None else range(10**9))
    with tempfile.TemporaryDirectory(prefix="effectgate-fuzz-") as place, bench(Path(place)) as on:
        print(f"seed {given.seed}", flush=True)
        fuzz(on, given.seed, numbers, given.seconds)
        wrong = faults(on)
        arrived = len(on.pair.requests())
        print(
            json.dumps(
                {"cases": on.tally.cases, "arrived": arrived, "statuses": dict(sorted(on.tally.statuses.items()))},
                indent=1,
            )
        )
    print("\n".join(wrong) or "nothing found")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
