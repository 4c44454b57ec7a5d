"""What is owed to a store that fails, and the folds that are due by the clock."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import Future

from effectgate.folds import Folds
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import Decision, Reason
from effectgate.receipts.folding import RefusalMeter
from effectgate.receipts.record import Draft, Sealed
from effectgate.receipts.store import Spend, StoreError
from effectgate.recorder import Recorder

SEALED = Sealed("ab" * 32, 2, b"{}", "cd" * 32)
REFUSED = Verdict(Decision.DENY, Reason.DATA_EGRESS_BLOCKED, "No.")


class MoodyStore:
    """Takes receipts while `works`."""

    def __init__(self) -> None:
        self.works = True
        self.kept: list[Draft] = []
        self.fault = ""

    def append(self, draft: Draft, spends: tuple[Spend, ...] = ()) -> Future[Sealed]:
        future: Future[Sealed] = Future()
        if self.works:
            self.kept.append(draft)
            future.set_result(SEALED)
        else:
            future.set_exception(StoreError("moody"))
        return future

    def close(self) -> None:
        """Nothing to close."""


def completion(number: int) -> Draft:
    return Draft("completion", "t", decision_id=f"dec-{number}")


def test_what_is_owed_is_paid_once_and_in_order() -> None:
    async def scene() -> None:
        store = MoodyStore()
        recorder = Recorder(store)
        store.works = False
        for number in range(3):
            await recorder.settled(recorder.owe(completion(number)))
        assert store.kept == []
        store.works = True
        for _ in range(2):
            await recorder.durable(Draft("decision", "t"), (), lambda sealed: None)
        assert [draft.decision_id for draft in store.kept] == ["", "dec-0", "dec-1", "dec-2", ""]

    asyncio.run(scene())


def test_a_store_that_stays_broken_is_not_asked_for_ever() -> None:
    async def scene() -> None:
        store = MoodyStore()
        recorder = Recorder(store)
        store.works = False
        recorder.owe(completion(0))
        recorder._pay()
        recorder._pay()
        assert len(recorder._owed) == 1

    asyncio.run(scene())


def test_waiting_for_a_completion_ends_at_the_deadline() -> None:
    async def scene() -> None:
        await asyncio.wait_for(Recorder(MoodyStore(), deadline=0.05).settled(Future()), 5)

    asyncio.run(scene())


def test_a_fold_is_written_when_it_is_due_and_then_begins_anew() -> None:
    async def scene() -> None:
        store = MoodyStore()
        folds = Folds(Recorder(store), RefusalMeter(), lambda: "2026-11-30T12:00:00.000Z", every=0.05)
        for number in range(5):
            verdict = folds.fold("ci", REFUSED, {"number": number})
            assert verdict.reason_code is Reason.TEMPORAL_THROTTLE
        await asyncio.sleep(0.2)
        folds.fold("ci", REFUSED, {"number": 5})
        await folds.close()
        assert [json.loads(draft.output)["count"] for draft in store.kept] == [5, 1]
        assert all((draft.kind, draft.verdict) == ("fold", "DENY") for draft in store.kept)

    asyncio.run(scene())
