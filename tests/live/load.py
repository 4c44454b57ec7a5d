"""A small, steady load, and the three things that must hold of it whatever part fails."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException

from live.ask import Request, plain, tls_1, tls_2
from live.gate import Gate
from live.ledger import Pair
from live.wire import Door, Response

PAUSE_SECONDS = 0.05
ASKS = (plain, tls_1, tls_2)
_number = itertools.count()

Ask = Callable[[Door, Request], Response]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request of the load came to; status 0 where the connection ended without a response."""

    ask: Ask
    path: str
    status: int
    told: str  # the body, as text

    @property
    def explained(self) -> bool:
        """Whether it was served, or says in JSON why not."""
        if self.status == 200:
            return True
        with contextlib.suppress(ValueError):
            return bool(self.status and json.loads(self.told)["reason"])
        return False


def fresh_get() -> Request:
    """A granted request with a path that no other has."""
    return Request("GET", f"https://api.ledger.test/items/load-{next(_number)}")


def asked(door: Door, ask: Ask) -> Answer:
    """One granted request, whatever comes of it."""
    request = fresh_get()
    try:
        response = ask(door, request)
    except (OSError, HTTPException) as fault:
        return Answer(ask, request.target, 0, repr(fault))
    return Answer(ask, request.target, response.status, response.body.decode(errors="replace"))


class Load:
    """One thread for each transport; `answers` grows while it runs."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._stopped = threading.Event()
        self.answers: list[Answer] = []
        self._threads = [threading.Thread(target=self._run, args=(ask,), daemon=True) for ask in ASKS]

    def _run(self, ask: Ask) -> None:
        while not self._stopped.wait(PAUSE_SECONDS):
            self.answers.append(asked(self._door, ask))

    def start(self) -> None:
        """Begin to ask."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop, and wait for the last answers."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(15)

    def refused(self) -> set[Ask]:
        """The transports over which some request was refused because deciding failed."""
        return {answer.ask for answer in self.answers if answer.status == 503}

    def unexplained(self) -> list[Answer]:
        """Answers that are neither the origin's nor a reason."""
        return [answer for answer in self.answers if not answer.explained]


@contextlib.contextmanager
def loaded(door: Door) -> Iterator[Load]:
    """A load for the length of a block."""
    load = Load(door)
    load.start()
    try:
        yield load
    finally:
        load.stop()


def unreceipted(gate: Gate, pair: Pair) -> set[str]:
    """Paths that an origin saw and no ALLOW on disk has: must be empty."""
    allowed = {receipt["args"]["path"] for receipt in gate.receipts() if _is_allow(receipt)}
    return {seen.target.decode() for seen in pair.requests()} - allowed


def never_closed(gate: Gate) -> int:
    """How many ALLOWs have no completion."""
    receipts = gate.receipts()
    return sum(map(_is_allow, receipts)) - sum(receipt["kind"] == "completion" for receipt in receipts)


def _is_allow(receipt: dict[str, object]) -> bool:
    return (receipt["kind"], receipt["verdict"]) == ("decision", "ALLOW")


def serves(gate: Gate, door: Door, seconds: float = 10.0) -> bool:
    """Whether every transport is served again in time, without a restart."""
    deadline = time.monotonic() + seconds
    while not all(asked(door, ask).status == 200 for ask in ASKS):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return gate.running
