"""Playing one case: its steps, what became of them, and the good requests that must be served afterwards."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hostile.frames import read_stream
from hostile.repeats import unfold
from hostile.rows import Case, Expectation, Step
from hostile.transports import TRANSPORTS, Way
from proxy.client import Reply, Wire

GOOD_HOST = "www.good.test"
GOOD_PATH = "/good/"  # what follows is the case's number
SERVED = frozenset({"api.trap.test", "other.trap.test", "desk.test", GOOD_HOST, "api.good.test", "files.good.test"})


@dataclass(frozen=True, slots=True)
class Told:
    """One refusal as the client saw it. `receipt` is the id it names, empty where it names none."""

    reason: str
    left: str
    receipt: str = ""


@dataclass(slots=True)
class Outcome:
    """What playing a case showed. `faults` are sentences; `goods` counts good requests sent to the row's own host."""

    faults: list[str] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    goods: int = 0

    def check(self, holds: bool, sentence: str) -> None:
        """Note a fault unless `holds`."""
        if not holds:
            self.faults.append(sentence)


class Player:
    """Plays cases; `credentials` gives each agent's Proxy-Authorization value, empty for a stranger."""

    def __init__(self, way: Callable[[str], Way]) -> None:
        self._way = way

    def play(self, case: Case, number: int) -> Outcome:
        """Play one case and the good requests after it. Never raises: whatever went wrong is a fault."""
        outcome = Outcome()
        try:
            self._play(case, number, outcome)
        except (OSError, EOFError, ValueError) as error:
            outcome.faults.append(f"the case ended in {error!r}")
        try:
            self._good_after(case, number, outcome)
        except (OSError, EOFError, ValueError) as error:
            outcome.faults.append(f"the good request on a new connection ended in {error!r}")
        return outcome

    def _play(self, case: Case, number: int, outcome: Outcome) -> None:
        row, way = case.row, self._way(case.row.agent)
        with way.open(case.transport, row.host, connect=row.connect, sni=row.sni) as wire:
            last: Reply | None = None
            for step in row.steps:
                if step.expect is None:
                    _move(wire, case, step, way)
                else:
                    last = _answer(wire, step)
                    _judge(case, step.expect, last, outcome)
            end = row.steps[-1].expect
            if end is not None and last is not None and case.transport.alpn != ("h2",):
                _afterwards(wire, case, number, end, last, outcome, way)

    def _good_after(self, case: Case, number: int, outcome: Outcome) -> None:
        # A handshake costs ten times what a request does; a refusal over TLS that spoilt TLS alone would show in one of eight.
        transport = TRANSPORTS["https" if case.transport.alpn and number % 8 == 0 else "http"]
        with self._way("good").open(transport, GOOD_HOST) as wire:
            wire.send(
                _good_request(GOOD_HOST, number, transport.absolute, transport.more(self._way("good").credential))
            )
            answer = wire.reply()
        outcome.check(answer.status == 200, f"the good request on a new connection was answered {answer.status}")


def _move(wire: Wire, case: Case, step: Step, way: Way) -> None:
    if step.wait:
        time.sleep(step.wait)
    if step.tls:
        wire.tls(way.ca, step.tls)
    try:
        if step.send:
            wire.send(case.filled(step.send, way.credential))
        if step.hex:
            wire.send(bytes.fromhex(unfold(step.hex)))
        if step.shut:
            _half_close(wire)
    except (ConnectionError, OSError):
        pass  # the proxy may refuse before everything is sent; what it said is read next


def _half_close(wire: Wire) -> None:
    # Under TLS this is a FIN without close_notify, which is what a client that dies sends.
    socket.socket.shutdown(wire.sock, socket.SHUT_WR)


def _answer(wire: Wire, step: Step) -> Reply:
    """The next answer; status 0 where the connection was closed without one. Raises TimeoutError."""
    try:
        return read_stream(wire, step.stream) if step.stream else wire.reply(to_head=step.to_head)
    except TimeoutError:
        raise
    except (EOFError, OSError):
        return Reply(0, "", {}, b"")


def _judge(case: Case, expect: Expectation, answer: Reply, outcome: Outcome) -> None:
    said = _facts(answer)
    outcome.check(answer.status in expect.status, f"status {answer.status}, not {expect.status}: {answer.body[:300]!r}")
    if answer.status >= 400:
        _judge_refusal(case, expect, answer, said, outcome)
    elif case.leaves(expect) == "receipt":
        outcome.told.append(Told(expect.reason, "silent"))
    for name, value in expect.echo.items():
        outcome.check(said.get(name) == value, f"the origin was sent {name} {said.get(name)!r}, not {value!r}")


def _judge_refusal(case: Case, expect: Expectation, answer: Reply, said: dict[str, object], outcome: Outcome) -> None:
    left = case.leaves(expect)
    if not answer.body and answer.headers.get("content-length") != "0":  # the answer to a HEAD
        names = {"reason_code": "x-effectgate-reason", "receipt_id": "x-effectgate-receipt"}
        said = {key: answer.headers.get(name) for key, name in names.items()}
    reason, receipt = str(said.get("reason_code")), str(said.get("receipt_id") or "")
    outcome.check(reason == expect.reason, f"reason_code {reason}, not {expect.reason}: {said.get('reason')}")
    outcome.check(expect.says in str(said.get("reason")), f"the reason is {said.get('reason')!r}")
    outcome.check(bool(receipt) == (left == "receipt"), f"receipt_id is {receipt!r}, not {left}")
    outcome.check("x-effectgate-verdict" in answer.headers or answer.status == 407, "no X-Effectgate-Verdict")
    outcome.told.append(Told(reason, left, receipt))


def _facts(answer: Reply) -> dict[str, object]:
    try:
        facts = json.loads(answer.body)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _afterwards(
    wire: Wire, case: Case, number: int, expect: Expectation, last: Reply, outcome: Outcome, way: Way
) -> None:
    """A connection that says it stays serves a good request; one that says it closes never answers again."""
    closes = last.status == 0 or last.headers.get("connection", "").lower() == "close" or _ends_by_itself(case)
    outcome.check(
        expect.then in ("", "closed" if closes else "open"), f"the connection is {'closed' if closes else 'open'}"
    )
    if last.status in (101, 407) or way.credential == "":
        return
    if closes:
        _stays_silent(wire, case, number, way, outcome)
    elif _is_served(case):
        outcome.goods += bool(case.transport.tunnel)
        wire.send(_good(case, number, way))
        answer = wire.reply()
        outcome.check(answer.status == 200, f"the good request on the same connection was answered {answer.status}")


def _ends_by_itself(case: Case) -> bool:
    """Whether this is HTTP/1.0 that does not ask to stay (RFC 9112 section 9.3)."""
    sent = "".join(step.send for step in case.row.steps)
    return "HTTP/1.0" in (case.transport.version, *sent.split()) and "keep-alive" not in sent


def _is_served(case: Case) -> bool:
    """Whether a good request on the case's own connection has somewhere to go."""
    row = case.row
    astray = bool(row.sni or row.connect)  # the names of the tunnel disagree: nothing in it is served
    return row.agent != "expired" and not astray and (not case.transport.tunnel or row.host in SERVED)


def _stays_silent(wire: Wire, case: Case, number: int, way: Way, outcome: Outcome) -> None:
    try:
        wire.send(_good(case, number, way))
        _half_close(wire)
        rest = wire.rest()
    except TimeoutError:
        raise
    except OSError:
        return
    outcome.check(rest == b"", f"after its last answer the connection said {rest[:80]!r}")


def _good(case: Case, number: int, way: Way) -> bytes:
    if case.transport.tunnel:
        return _good_request(case.row.host, number, False, "")
    return _good_request(GOOD_HOST, number, True, f"Proxy-Authorization: {way.credential}\r\n")


def _good_request(host: str, number: int, absolute: bool, more: str) -> bytes:
    at = f"http://{host}" if absolute else ""
    return f"GET {at}{GOOD_PATH}{number} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()
