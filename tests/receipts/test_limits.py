"""Limits: windows, meters and what a refusal says; then the ledger over them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effectgate.policy.grant import PERIODS, Limits
from effectgate.receipts.limits import WINDOW_SECONDS, Exhausted, Meter, Window
from effectgate.receipts.store import StoreError
from effectgate.receipts.store_limits import Ledger, Reservation, Used

NOON = datetime(2026, 11, 30, 12, 0, 1, tzinfo=UTC)


def ledger(**used: int) -> Ledger:
    began = Window.at("day", NOON).began
    return Ledger(lambda: {("ci", name): (began, count) for name, count in used.items()})


def day(requests: int | None = None, upload_bytes: int | None = None, per: str = "day") -> Limits:
    return Limits(requests, upload_bytes, per)


def reserved(book: Ledger, limits: Limits | None, upload: int | None = 0, now: datetime = NOON) -> Reservation:
    held = book.reserve("ci", limits, upload, now)
    assert isinstance(held, Reservation)
    return held


def refused(book: Ledger, limits: Limits, upload: int | None = 0, now: datetime = NOON) -> Exhausted:
    held = book.reserve("ci", limits, upload, now)
    assert isinstance(held, Exhausted)
    return held


@pytest.mark.parametrize(
    ("per", "resets"),
    [
        ("minute", "2026-11-30T12:01:00+00:00"),
        ("hour", "2026-11-30T13:00:00+00:00"),
        ("day", "2026-12-01T00:00:00+00:00"),
    ],
)
def test_windows_begin_on_the_clock(per: str, resets: str) -> None:
    window = Window.at(per, NOON)
    assert window.resets == datetime.fromisoformat(resets)


def test_a_run_never_resets() -> None:
    assert Window.at("run", NOON) == Window(0, None)
    assert "it does not reset in this run" in Exhausted("requests", "run", 3, 0, 1, None).sentence()


def test_every_period_of_a_grant_has_a_window() -> None:
    assert set(PERIODS) <= set(WINDOW_SECONDS)


def test_no_limit_reserves_nothing() -> None:
    for limits in (None, day()):
        assert reserved(ledger(), limits) == Reservation("ci", {}, ())


def test_a_new_window_begins_at_nothing() -> None:
    book = ledger()
    reserved(book, day(1))
    refused(book, day(1))
    reserved(book, day(1), now=NOON + timedelta(days=1))


def test_a_request_counts_in_the_window_it_was_made_in() -> None:
    book, limits = ledger(), day(1, 10)
    held = reserved(book, limits, 10)
    reserved(book, limits, 3, now=NOON + timedelta(days=1))
    book.settle(held, 10)
    assert book.remaining("ci") == {"requests": 0, "upload_bytes": 7}


def test_a_clock_set_back_gives_nothing_back() -> None:
    book = ledger()
    reserved(book, day(1))
    refused(book, day(1), now=NOON - timedelta(days=1))


def test_a_clock_that_was_ahead_holds_no_window_shut() -> None:
    """The other way round it would: what was used then counts on, and the next window begins when it is due."""
    book, ahead = ledger(), NOON + timedelta(days=900)
    held = reserved(book, day(2), now=ahead)
    reserved(book, day(2))
    book.settle(held, 0)
    refused(book, day(2))
    reserved(book, day(2), now=NOON + timedelta(days=1))


def test_a_window_of_a_clock_that_was_ahead_is_left_after_a_restart() -> None:
    began = Window.at("day", NOON + timedelta(days=900)).began
    book = Ledger(lambda: {("ci", "requests"): (began, 1)})
    reserved(book, day(2))
    refused(book, day(2))
    reserved(book, day(2), now=NOON + timedelta(days=1))


def test_a_raised_limit_opens_and_a_lowered_one_shuts() -> None:
    book = ledger(requests=5)
    refused(book, day(5))
    book.settle(reserved(book, day(7)), 0)
    refused(book, day(3))


def test_what_another_run_used_counts() -> None:
    held = reserved(ledger(requests=2), day(3))
    assert [(spend.limit, spend.amount, spend.size) for spend in held.spends] == [("requests", 1, 3)]
    assert Window.at("day", NOON).began == held.spends[0].window


def test_a_window_that_is_over_does_not_count() -> None:
    began = Window.at("day", NOON).began - 86400
    reserved(Ledger(lambda: {("ci", "requests"): (began, 9)}), day(1))


def test_a_store_that_cannot_be_read_is_asked_again() -> None:
    answers: list[Used | StoreError] = [StoreError("locked"), {}]

    def load() -> Used:
        answer = answers.pop(0)
        if isinstance(answer, StoreError):
            raise answer
        return answer

    book = Ledger(load)
    with pytest.raises(StoreError):
        book.reserve("ci", day(1), 0, NOON)
    reserved(book, day(1))


def test_both_limits_hold_or_nothing_is_taken() -> None:
    book = ledger()
    limits = day(5, 100)
    assert refused(book, limits, 101).limit == "upload_bytes"
    assert book.remaining("ci") == {"requests": 5, "upload_bytes": 100}
    reserved(book, limits, 100)
    assert book.remaining("ci") == {"requests": 4, "upload_bytes": 0}


def test_an_overrun_latches() -> None:
    book = ledger()
    held = reserved(book, day(None, 100), None)
    assert held.upload_left == 100
    book.settle(held, 150)
    assert refused(book, day(None, 100)).left == 0


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.booleans()), max_size=30))
def test_what_is_settled_within_its_reservation_never_exceeds_the_limit(steps: list[tuple[int, int, bool]]) -> None:
    """The law: reserve before, settle at most that, and the limit holds at every moment."""
    meter, out = Meter(100, Window(0, None)), list[int]()
    for amount, used, settle in steps:
        if settle and out:
            held = out.pop()
            meter.settle(held, min(used, held))
        elif amount <= meter.left:
            meter.reserve(amount)
            out.append(amount)
        assert 0 <= meter.counted <= 100
        assert meter.left <= 100 - meter.counted
