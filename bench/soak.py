"""A long load of mixed transports: `PYTHONPATH=addons:tests python bench/soak.py [--requests 200000]`.

The load runs in a process of its own. What `effectgate serve` takes is printed as it goes; the run fails where resident memory
grows by more than 15 MiB after warm-up, descriptors do not come back, an answer is not the expected one, or the chain of
receipts does not verify.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]

from load.client import Way  # noqa: E402
from load.gate import AGENT, Taken, load_gate  # noqa: E402
from load.mix import Tally, https_1, visit  # noqa: E402
from load.origin import listen  # noqa: E402

from live.gate import Gate, effectgate, environment, serving, wait  # noqa: E402
from origin.certificates import Authority  # noqa: E402

ALLOWED_MIB = 15
WARM = 0.2  # of all requests
EVERY_SECONDS = 5.0
SETTLE_SECONDS = 30.0
AT_ONCE = 24


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process took when so many requests had been made."""

    asked: int
    taken: Taken


# -- the process that makes the load


async def load(directory: Path, requests: int, minutes: float) -> None:
    """Origins and clients. Ports go out on the first line, progress on each further one, then what came of it."""
    authority = Authority(directory)
    servers = [await listen(authority.context(["http/1.1"])), await listen(None)]
    print(json.dumps([port for _, port in servers] + [str(authority.pem)]), flush=True)
    way = Way(**json.loads(await asyncio.to_thread(sys.stdin.readline)))
    tally = Tally(requests, time.monotonic() + 60 * minutes)
    clients = [asyncio.create_task(visit(way, tally)) for _ in range(AT_ONCE)]
    while not all(client.done() for client in clients):
        print(json.dumps(tally.asked), flush=True)
        await asyncio.wait(clients, timeout=EVERY_SECONDS)
    seen = {f"{name} {status}": count for (name, status), count in sorted(tally.seen.items())}
    print(json.dumps({"seen": seen, "faults": dict(tally.faults)}), flush=True)


# -- the process that watches


def watch(child: subprocess.Popen[str], pid: int, began: float) -> tuple[list[Sample], dict[str, dict[str, int]]]:
    """A sample for each line of progress, and the tally at the end."""
    samples: list[Sample] = []
    assert child.stdout is not None
    for line in child.stdout:
        told = json.loads(line)
        if isinstance(told, dict):
            return samples, told
        samples.append(Sample(told, Taken.by(pid)))
        print(f"{time.monotonic() - began:7.0f} s {told:8d} requests {samples[-1].taken}", flush=True)
    raise AssertionError(f"the load ended with {child.wait()}")


def soak(directory: Path, requests: int, minutes: float) -> int:
    """Everything; the exit status."""
    command = [sys.executable, __file__, "--load", str(directory), "--requests", str(requests)]
    command += ["--minutes", str(minutes)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        secure, plain, anchors = json.loads(child.stdout.readline())
        (directory / "gate").mkdir()
        gate = load_gate(directory / "gate", secure, plain, Path(anchors))
        with serving(gate):
            assert gate.process is not None
            pid, began = gate.process.pid, time.monotonic()
            way = Way(gate.port, AGENT.name, AGENT.token, str(gate.ca))
            start = warmed(pid, way)
            print(f"start {start}", flush=True)
            child.stdin.write(json.dumps(asdict(way)) + "\n")
            child.stdin.flush()
            samples, told = watch(child, pid, began)
            seconds = time.monotonic() - began
            settled = wait(lambda: Taken.by(pid).fds <= start.fds, SETTLE_SECONDS)
            end = Taken.by(pid)
        return verdict(gate, samples, told, Sample(requests, start), Sample(requests, end), seconds, settled)


def warmed(pid: int, way: Way) -> Taken:
    """What the process takes once the store is open, and everybody has left again."""
    asyncio.run(https_1(way))
    time.sleep(2)
    return Taken.by(pid)


def verdict(
    gate: Gate, samples: list[Sample], told: dict[str, dict[str, int]], start: Sample, end: Sample, seconds: float,
    settled: bool,
) -> int:  # fmt: skip
    """Print the figures; 1 where one of them is not as it should be."""
    warm = next((sample for sample in samples if sample.asked >= WARM * samples[-1].asked), samples[-1])
    grown = (end.taken.rss - warm.taken.rss) / 1024
    most = (max(sample.taken.rss for sample in samples) - warm.taken.rss) / 1024
    checked = effectgate(
        "receipts", "verify", "--config", str(gate.config), seconds=900
    )  # 0.4 ms a receipt, 400,000 of them
    asked = sum(told["seen"].values())
    print(json.dumps(told, indent=1))
    print(f"{asked} requests in {seconds:.0f} s, {asked / seconds:.0f}/s")
    print(f"start              {start.taken}")
    print(f"warm ({warm.asked:8d}) {warm.taken}")
    print(f"end                {end.taken}")
    print(f"growth after warm-up: {grown:.1f} MiB at the end, {most:.1f} MiB at most; allowed: {ALLOWED_MIB} MiB")
    print(f"descriptors back to the start: {settled}")
    print(f"receipts verify: exit {checked.returncode}: {checked.stdout.strip()}{checked.stderr.strip()}")
    sound = grown <= ALLOWED_MIB and settled and not told["faults"] and checked.returncode == 0
    return 0 if sound else 1


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--minutes", type=float, default=120.0, help="end by then, however many have been made")
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.load:
        asyncio.run(load(arguments.load, arguments.requests, arguments.minutes))
        return 0
    with tempfile.TemporaryDirectory() as place:
        return soak(Path(place), arguments.requests, arguments.minutes)


if __name__ == "__main__":
    sys.exit(main())
