"""A process that asks the boundary many times at once under one limit; prints how many requests were allowed.

Run as `python spender_process.py STATE WRITER ASKED UPLOAD FINISH`: UPLOAD bytes of body each; FINISH `complete` settles each
at one byte, `die` ends the process as a crash would, without settling.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from scene import KEY

from effectgate.boundary import Answer, Caller, EffectBoundary, Outcome
from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.facts import facts_from_url
from effectgate.policy.grant import Limits, grant_of_ids
from effectgate.policy.host import HostPattern
from effectgate.policy.path import PathPattern
from effectgate.policy.rulebook import Rulebook
from effectgate.policy.vocabulary import Risk
from effectgate.receipts.evidence import Evidence
from effectgate.receipts.store_limits import Ledger, used_so_far
from effectgate.receipts.store_sqlite import SqliteStore

LIMITS = Limits(requests=10, upload_bytes=100, per="week")


def rules() -> Rulebook:
    """One agent, one effect, the limits."""
    shape = Shape(frozenset({"POST"}), HostPattern.parse("api.test"), PathPattern.parse("/up"))
    effect = Effect(
        "test/up", "Up", Risk.PUBLISH, ("web_fetch",), hosts=("api.test",), shapes=(shape,), digest="sha256:e"
    )
    catalog = Catalog.build([effect])
    return Rulebook(catalog, {"ci": replace(grant_of_ids(catalog, ["test/up"], "ci"), limits=LIMITS)})


async def spend(state: Path, writer: str, asked: int, upload: int, finish: str) -> None:
    """Ask at once, then end."""
    store = SqliteStore(state, KEY, writer=writer)
    boundary = EffectBoundary(rules(), store, Evidence(b"k" * 32), Ledger(lambda: used_so_far(state)))
    facts = facts_from_url("POST", "https://api.test/up", body=b"x" * upload)
    answers = await asyncio.gather(*(boundary.submit(Caller("ci", "s"), facts) for _ in range(asked)))
    print(sum(answer.allowed for answer in answers), {_why(answer) for answer in answers}, flush=True)
    if finish == "die":
        os._exit(9)
    for answer in answers:
        await boundary.complete(answer, Outcome(True, 200, bytes_sent=min(1, upload)))
    await boundary.close()
    store.close()


def _why(answer: Answer) -> str:
    return str(answer.reason_code)


if __name__ == "__main__":
    asyncio.run(spend(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))
