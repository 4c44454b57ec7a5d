"""The rows of `rows/*.toml`: what is sent, over which transports, and what must come of it. README.md explains the format."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hostile import http2
from hostile.repeats import unfold
from hostile.transports import TRANSPORTS, Transport

FILES = sorted(Path(__file__).with_name("rows").glob("*.toml"))
SETS: Mapping[str, tuple[str, ...]] = {
    "heads": ("http", "connect", "https", "websocket", "connect-websocket"),
    "bodies": ("http", "connect", "https"),
    "old": ("http/1.0", "connect/1.0", "https/1.0"),
}
TRAP_HOST = "api.trap.test"
LEFT = ("receipt", "count", "nothing")


class RowError(ValueError):
    """A row file is not well-formed; the message names the file and the row."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must come next. `status` has every status that will do; 0 is a close without an answer.

    `left` is what a refusal leaves behind: a receipt, a count on /metrics (no principal is known), or nothing.
    """

    status: tuple[int, ...]
    reason: str = ""  # reason_code of a refusal
    left: str = "nothing"
    then: str = ""  # open, closed; empty: whatever the answer says
    says: str = ""  # a part of the refusal's sentence
    echo: Mapping[str, object] = field(default_factory=dict)  # of an answer from the origin: what it was sent

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Expectation:
        """From a row's `expect`. A refusal leaves a receipt unless the row says otherwise."""
        status = told["status"] if isinstance(told["status"], list) else [told["status"]]
        left = "receipt" if told.get("reason") else "nothing"
        return cls(**{"left": left, **told, "status": tuple(status)})


@dataclass(frozen=True, slots=True)
class Step:
    """One move of the client: bytes (`send`, with places to fill, or `hex`), a pause, a half-close, or an answer awaited.

    `stream` is the HTTP/2 stream whose answer is awaited; 0 is HTTP/1. `tls` begins TLS with this server name.
    """

    send: str = ""
    hex: str = ""
    wait: float = 0.0
    shut: bool = False
    tls: str = ""
    stream: int = 0
    to_head: bool = False  # the answer has no body whatever its length says
    expect: Expectation | None = None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Step:
        """From one table of a row's `steps`."""
        expect = Expectation.of(told["expect"]) if "expect" in told else None
        return cls(**{**told, "expect": expect})


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `agent` holds the grant it is sent under (scene.py); `connect` and `sni` stand in for what `host` would give."""

    name: str
    source: str
    on: tuple[str, ...]
    steps: tuple[Step, ...]
    file: str
    it: str = ""  # what stands for {it}
    agent: str = "wide"
    host: str = TRAP_HOST
    connect: str = ""
    sni: str = ""

    @property
    def control(self) -> bool:
        """Whether this is a good request, which must be served."""
        return self.file.startswith("controls")


@dataclass(frozen=True, slots=True)
class Case:
    """A row over one transport."""

    row: Row
    transport: Transport

    def __str__(self) -> str:
        return f"{self.row.name} - {self.transport.name}"

    def filled(self, text: str, credential: str) -> bytes:
        """The bytes of a `send`: Latin-1, with the places filled as this transport needs them."""
        row = self.row
        known = {
            "{it}": row.it,
            "{at}": f"http://{row.host}" if self.transport.absolute else "",
            "{v}": self.transport.version,
            "{auth}": f"Proxy-Authorization: {credential}\r\n",
            "{more}": self.transport.more(credential),
            "{host}": row.host,
        }
        for place, value in known.items():
            text = text.replace(place, value)
        return unfold(text).encode("latin-1")


def load() -> list[Row]:
    """Every row of every file. Raises RowError."""
    rows = [row for file in FILES for row in _rows(file)]
    names = [row.name for row in rows]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise RowError(f"rows share a name: {sorted(doubled)}")
    return rows


def cases(rows: list[Row]) -> list[Case]:
    """Each row over each of its transports."""
    return [Case(row, TRANSPORTS[name]) for row in rows for name in row.on]


def _rows(file: Path) -> Iterator[Row]:
    for group in tomllib.loads(file.read_text())["group"]:
        shared = {key: value for key, value in group.items() if key != "rows"}
        for name, told in group["rows"].items():
            own = {"it": told} if isinstance(told, str) else told
            try:
                yield _row(name, file.stem, {**shared, **own})
            except (KeyError, TypeError, ValueError) as error:
                raise RowError(f"{file.name}, row {name!r}: {error!r}") from error


def _row(name: str, file: str, told: dict[str, Any]) -> Row:
    on = tuple(one for item in told.pop("on") for one in SETS.get(item, (item,)))
    expect = Expectation.of(told.pop("expect")) if "expect" in told else None
    steps = [Step.of(step) for step in told.pop("steps", [])]
    send = told.pop("send", "")
    frames = told.pop("frames", [])
    sent = Step(hex=http2.connection(frames, told.get("host", TRAP_HOST)).hex()) if frames else Step(send=send)
    steps = steps or [sent]
    last = Step(expect=expect, to_head=told.pop("to_head", False), stream=told.pop("stream", 0))
    row = Row(name=name, file=file, on=on, steps=(*steps, *([last] if expect else [])), **told)
    _check(row)
    return row


def _check(row: Row) -> None:
    if unknown := set(row.on) - set(TRANSPORTS):
        raise ValueError(f"unknown transports {sorted(unknown)}")
    expected = [step.expect for step in row.steps if step.expect]
    if not row.source or not expected or dataclasses.replace(row.steps[-1], expect=None) == row.steps[-1]:
        raise ValueError("a row has a source and ends in an expectation")
    if any(one.left not in LEFT or one.then not in ("", "open", "closed") for one in expected):
        raise ValueError(f"`left` is one of {LEFT}, `then` is open or closed")
