"""Fuzzing a running `effectgate serve`: `python -m fuzz.live --seconds 600 [--seed N] [--only NUMBER]` (README.md).

Agents hold one narrow effect. Whatever is sent: only what that effect means may arrive at the origin, each with its ALLOW on disk;
no 5xx but 502; an answer or a close in time; the process lives; its receipts verify; good requests are served.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fuzz.bench import Bench, bench
from fuzz.cases import case
from hostile.rows import load

# Heads of the hostile rows, with their places in them; each was refused as it stands.
HOSTILE = sorted(
    {
        row.steps[0].send.replace("{it}", row.it)
        for row in load()
        if {"http", "connect", "https"} & set(row.on) and "{[" not in row.steps[0].send + row.it
    }
)


def fuzz(on: Bench, seed: int, numbers: Iterator[int], seconds: float, threads: int = 6) -> None:
    """Play cases until the time or the numbers are over, or there is enough to look at."""
    lock, end = threading.Lock(), time.monotonic() + seconds

    def work() -> None:
        while time.monotonic() < end and len(on.tally.findings) < 20:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            on.play(case(seed, number, on.ways[number % len(on.ways)].credential, HOSTILE))

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work) for _ in range(threads)]:
            done.result()


def faults(on: Bench) -> list[str]:
    """Everything that was wrong."""
    wrong = [*on.tally.findings, *on.objections()]
    return [*wrong, end] if (end := on.verified()) else wrong


def main() -> int:
    """Fuzz, report, and say by the exit code whether all was well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    numbers = iter([given.only] if given.only is not None else range(10**9))
    with tempfile.TemporaryDirectory(prefix="effectgate-fuzz-") as place, bench(Path(place)) as on:
        print(f"seed {given.seed}", flush=True)
        fuzz(on, given.seed, numbers, given.seconds)
        wrong = faults(on)
        arrived = len(on.pair.requests())
        print(
            json.dumps(
                {"cases": on.tally.cases, "arrived": arrived, "statuses": dict(sorted(on.tally.statuses.items()))},
                indent=1,
            )
        )
    print("\n".join(wrong) or "nothing found")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
