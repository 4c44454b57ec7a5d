"""Frames that ask for nothing run out; those that ask for something never do."""

from __future__ import annotations

import h2.events
import pytest

from effectgate.proxy.calm import Calm


def reset() -> h2.events.StreamReset:
    event = h2.events.StreamReset(stream_id=1)
    event.error_code = 8
    return event


def data(content: bytes) -> h2.events.DataReceived:
    return h2.events.DataReceived(stream_id=1, data=content)


@pytest.mark.parametrize(
    ("event", "bears"),
    [
        (h2.events.PingReceived(ping_data=b"12345678"), 10),
        (data(b""), 10),
        (h2.events.PriorityUpdated(), 10),
        (reset(), 2),
    ],
)
def test_what_asks_for_nothing_runs_out(event: h2.events.Event, bears: int) -> None:
    calm = Calm(burst=10, per_second=0)
    assert [calm.bears(event) for _ in range(bears + 1)] == [*[True] * bears, False]


@pytest.mark.parametrize(
    "event", [data(b"x"), h2.events.WindowUpdated(stream_id=1), h2.events.RequestReceived(stream_id=1)]
)
def test_what_asks_for_something_does_not(event: h2.events.Event) -> None:
    calm = Calm(burst=1, per_second=0)
    assert all(calm.bears(event) for _ in range(100))


def test_the_bucket_fills_again() -> None:
    calm = Calm(burst=1, per_second=1e9)
    assert all(calm.bears(h2.events.PingReceived(ping_data=b"12345678")) for _ in range(100))
