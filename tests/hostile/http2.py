"""HTTP/2 frames as a row writes them: tables of type, stream, flags and payload, never held against the protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hostile.repeats import unfold
from proxy import frames

TYPES = (
    "DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE", "CONTINUATION",
)  # fmt: skip
FLAGS = {"END_STREAM": 1, "ACK": 1, "END_HEADERS": 4, "PADDED": 8, "PRIORITY": 32}
_KEYS = {"type", "stream", "flags", "fields", "set", "more", "without", "hex", "text", "times", "step", "frames"}


def connection(told: Sequence[Mapping[str, Any]], host: str) -> bytes:
    """A client's whole connection: the preface, empty SETTINGS, then what is told. Raises KeyError, ValueError."""
    return frames.PREFACE + frames.frame(frames.SETTINGS) + b"".join(_written(told, host))


def _written(told: Sequence[Mapping[str, Any]], host: str, beyond: int = 0) -> Iterator[bytes]:
    for one in told:
        if unknown := set(one) - _KEYS:
            raise ValueError(f"a frame has no {sorted(unknown)}")
        for turn in range(one.get("times", 1)):
            offset = beyond + turn * one.get("step", 0)
            if "frames" in one:
                yield from _written(one["frames"], host, offset)
            else:
                yield _frame(one, host, offset)


def _frame(one: Mapping[str, Any], host: str, offset: int) -> bytes:
    kind = one.get("type", "HEADERS")
    number = kind if isinstance(kind, int) else TYPES.index(kind)
    flags = one.get("flags", ["END_STREAM", "END_HEADERS"] if kind == "HEADERS" else [])
    stream = one.get("stream", 1) + offset
    payload = bytes.fromhex(unfold(one.get("hex", ""))) + unfold(one.get("text", "")).encode("latin-1")
    return frames.frame(number, stream, payload + _block(one, kind, host), sum(FLAGS[flag] for flag in flags))


def _block(one: Mapping[str, Any], kind: object, host: str) -> bytes:
    """The header block of a frame: `fields`, or a good head with what is `set`, goes `without` or has `more`."""
    if "fields" in one:
        return frames.block((name, unfold(value).replace("{host}", host)) for name, value in one["fields"])
    if kind != "HEADERS" or "hex" in one:
        return b""
    good = {":method": "GET", ":scheme": "https", ":authority": host, ":path": "/frames", **one.get("set", {})}
    kept = [(name, value) for name, value in good.items() if name not in one.get("without", ())]
    return frames.block([*kept, *((name, unfold(value)) for name, value in one.get("more", ()))])
