"""A response head, whole and piece by piece: a fault shows as soon as it is there, and a good beginning has none."""

from __future__ import annotations

import pytest

from effectgate.proxy.response_head import RESPONSE_HEAD_BYTES, head_fault, is_interim

from .lies import FIELDS, HONEST, STATUS_LINES


@pytest.mark.parametrize("name", HONEST)
def test_no_beginning_of_an_honest_head_has_a_fault(name: str) -> None:
    data = HONEST[name].sends
    assert [size for size in range(min(len(data), 200)) if head_fault(data[:size])] == []


@pytest.mark.parametrize("name", STATUS_LINES)
def test_no_other_status_line(name: str) -> None:
    assert head_fault(STATUS_LINES[name].sends)


def test_what_is_too_large_is_so_before_it_ends() -> None:
    assert head_fault(FIELDS["a head without end"].sends)
    assert head_fault(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * (RESPONSE_HEAD_BYTES // 6))
    assert not head_fault(b"HTTP/1.1 200 OK\r\n\r\n" + b"body" * RESPONSE_HEAD_BYTES)


def test_what_follows_the_head_is_not_looked_at() -> None:
    assert not head_fault(b"HTTP/1.1 200 OK\r\n\r\n\0\r \n fold")


@pytest.mark.parametrize(
    ("line", "interim"), [("100 Continue", True), ("103 H", True), ("199", True), ("101 S", False), ("200 OK", False)]
)
def test_interim(line: str, interim: bool) -> None:
    assert is_interim(f"HTTP/1.1 {line}\r\n".encode()) is interim
