"""The thin thread: CONNECT, TLS, HTTP/1.1, allowed and denied."""

from __future__ import annotations

from collections.abc import Callable

from .harness import Proxy
from .origins import Origin

Make = Callable[..., Proxy]
MakeOrigin = Callable[..., Origin]


def test_an_allowed_request_reaches_its_origin_and_is_completed(proxy: Make, origin: MakeOrigin) -> None:
    there = origin()
    gate = proxy({("allowed.test", 443): there})
    answer = gate.get("allowed.test", "/x")
    assert (answer.status, answer.body) == (200, b"hello")
    assert answer.headers["x-effectgate-verdict"] == "ALLOW"
    assert there.received.startswith(b"GET /x HTTP/1.1\r\nHost: allowed.test\r\n")
    outcome = gate.outcome()
    assert (outcome.success, outcome.status, outcome.bytes_received) == (True, 200, 5)


def test_a_denied_request_reaches_nothing(proxy: Make, origin: MakeOrigin) -> None:
    there = origin(name="denied.test")
    gate = proxy({("denied.test", 443): there})
    answer = gate.get("denied.test", "/x")
    assert answer.status == 403
    assert answer.json()["reason_code"] == "INSUFFICIENT_PRIVILEGE"
    assert (there.accepts, gate.names.asked) == (0, [])
