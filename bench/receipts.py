"""What a receipt costs: `PYTHONPATH=addons python bench/receipts.py` prints microseconds for each part, lone and grouped."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from effectgate.boundary import Caller, EffectBoundary, Outcome
from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.facts import RequestFacts, facts_from_url
from effectgate.policy.grant import grant_of_ids
from effectgate.policy.host import HostPattern
from effectgate.policy.path import PathPattern
from effectgate.policy.rulebook import Rulebook
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import Decision, Reason, Risk
from effectgate.receipts import drafts
from effectgate.receipts.canonical import canonical
from effectgate.receipts.evidence import Evidence
from effectgate.receipts.record import Draft, Place, seal
from effectgate.receipts.store_keys import SigningKey, publish, signing_key
from effectgate.receipts.store_limits import Ledger
from effectgate.receipts.store_reading import verify_file
from effectgate.receipts.store_sqlite import SqliteStore
from effectgate.receipts.store_tokens import Minted, TokenStore, mint

HEADERS = [("accept", "*/*"), ("user-agent", "curl/8"), ("accept-encoding", "gzip"), ("x-note", "a" * 40)]
FACTS = facts_from_url("GET", "https://api.test/repos/acme/web?per_page=100&page=2", HEADERS)
SHAPE = Shape(frozenset({"GET"}), HostPattern.parse("api.test"), PathPattern.parse("/repos/{owner}/{repo}"))
EFFECT = Effect("test/read", "Read", Risk.READ, ("web_fetch",), hosts=("api.test",), shapes=(SHAPE,), digest="sha256:e")
CATALOG = Catalog.build([EFFECT])
RULES = Rulebook(CATALOG, {"ci": grant_of_ids(CATALOG, ["test/read"], "ci")})
VERDICT = Verdict(Decision.ALLOW, Reason.NONE, "", effect="test/read", risk=Risk.READ)
CALLER = Caller("ci", "session")


def report(what: str, seconds: float, count: int) -> None:
    """One line: microseconds each."""
    print(f"{what:<52}{seconds / count * 1e6:9.1f} us")


def timed(what: str, act: Callable[[], object], count: int = 2000, rounds: int = 5) -> None:
    """The best of some rounds: the machine is noisy, and noise only ever adds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(count // rounds):
            act()
        best = min(best, time.perf_counter() - began)
    report(what, best, count // rounds)


def a_draft(evidence: Evidence) -> Draft:
    """The receipt of a plain ALLOW."""
    return drafts.decision(
        timestamp="2026-11-30T12:00:00.000Z",
        suffix="0123456789a0123456789abcdef",
        session_id="session",
        verdict=VERDICT,
        args=evidence.request("ci", FACTS, VERDICT),
        policy=drafts.policy_of(RULES, RULES.grants["ci"], VERDICT, evidence),
    )


def parts(key: SigningKey) -> None:
    """What one receipt is made of, without the disk."""
    evidence = Evidence(b"k" * 32)
    draft, place = a_draft(evidence), Place("worker-1", 7, "ab" * 32)
    args = evidence.request("ci", FACTS, VERDICT)
    print(f"body of an ALLOW: {len(seal(draft, place, key.key_id, key.sign).body)} bytes")
    timed("canonical JSON of args", lambda: canonical(args))
    timed("evidence and draft (on the event loop)", lambda: a_draft(evidence))
    timed("Ed25519", lambda: key.sign(b"x" * 700))
    timed("seal: hashes, address, signature (writer's thread)", lambda: seal(draft, place, key.key_id, key.sign))


def store_costs(state: Path, key: SigningKey) -> None:
    """The same on disk, one at a time and 5,000 at once."""
    store, draft = SqliteStore(state, key), a_draft(Evidence(b"k" * 32))
    store.append(draft).result()
    timed("lone: appended, durable", lambda: store.append(draft).result(), 500)
    began = time.perf_counter()
    for future in [store.append(replace(draft)) for _ in range(5000)]:
        future.result()
    report("grouped: appended, durable", time.perf_counter() - began, 5000)
    store.close()


async def boundary_costs(state: Path, key: SigningKey, facts: RequestFacts = FACTS) -> None:
    """Through the boundary: decide, receipt, answer; then its completion."""
    store = SqliteStore(state, key)
    boundary = EffectBoundary(RULES, store, Evidence(b"k" * 32), Ledger(dict))
    await boundary.submit(CALLER, facts)
    waits = []
    for _ in range(500):
        began = time.perf_counter()
        await boundary.submit(CALLER, facts)
        waits.append(time.perf_counter() - began)
    waits.sort()
    print(f"{'submit, lone: p50, p99':<52}{waits[250] * 1e6:9.1f} us{waits[495] * 1e6:9.1f} us")
    began = time.perf_counter()
    for _ in range(20):
        answers = await asyncio.gather(*(boundary.submit(CALLER, facts) for _ in range(100)))
    report("submit, 100 at once", time.perf_counter() - began, 2000)
    began = time.perf_counter()
    for _ in range(20):
        answers = await asyncio.gather(*(boundary.submit(CALLER, facts) for _ in range(100)))
        await asyncio.gather(*(boundary.complete(answer, Outcome(True, 200)) for answer in answers))
    report("submit and complete, 100 at once", time.perf_counter() - began, 2000)
    store.close()


def main() -> int:
    """Everything, in a directory of its own."""
    with tempfile.TemporaryDirectory() as place:
        state = Path(place) / "var"
        key = signing_key(state)
        publish(Path(place) / "trust.json", key)
        parts(key)
        store_costs(state, key)
        asyncio.run(boundary_costs(state, key))
        mint(state, Minted("ab" * 32, "ci"), datetime.now(UTC))
        tokens = TokenStore(state)
        timed("has a token been revoked?", lambda: tokens.revoked("cd"))
        tokens.close()
        began = time.perf_counter()
        found = verify_file(state / "receipts.db", Path(place) / "trust.json")
        report(f"verify, exit {found.exit_code}", time.perf_counter() - began, found.receipts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
