"""Decision alone, facts to verdict, no I/O: p50 and p99 in microseconds, for catalogs of 50 and of 5,000 effects, interleaved.

Run: .venv/bin/python bench/decision.py. The facts are made before the clock starts; every path is new in every round.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "addons"))

from effectgate.policy.catalog import Catalog
from effectgate.policy.decision import decide
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.facts import RequestFacts, facts_from_url
from effectgate.policy.grant import Grant, grant_of_ids
from effectgate.policy.host import HostPattern
from effectgate.policy.path import PathPattern
from effectgate.policy.vocabulary import Risk

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ROUNDS, REQUESTS = 7, 2000


def _effect(number: int, host: str, path: str, risk: Risk, *methods: str) -> Effect:
    shape = Shape(frozenset(methods), HostPattern.parse(host), PathPattern.parse(path))
    effect_id = f"bench/e{number}-{risk.word.replace('_', '-')}"
    return Effect(effect_id, f"Effect {number}", risk, ("web_fetch",), shapes=(shape,), digest=effect_id)


def catalog_of(size: int) -> Catalog:
    """Effects in pairs on few hosts: a precise read, and a riskier one that contains its path, so that blockers are weighed."""
    effects: list[Effect] = []
    for number in range(size // 2):
        host = f"api{number % 10}.example.com" if number % 3 else f"svc{number % 7}.*.example.net"
        effects.append(_effect(number, host, f"/v1/kind{number}/{{id}}/logs", Risk.READ, "GET", "HEAD"))
        effects.append(_effect(number, host, f"/v1/kind{number}/*", Risk.DESTRUCTIVE, "GET", "HEAD", "DELETE", "POST"))
    return Catalog.build(effects)


def requests_for(size: int, salt: int = 0) -> list[RequestFacts]:
    """A third admitted, a third refused by name, a third unnamed; each distinct, each with headers."""
    headers = [("accept", "*/*"), ("user-agent", "bench"), ("authorization", "Bearer x")]
    out = []
    for number in range(REQUESTS):
        kind = number % (size // 2)
        host = f"api{kind % 10}.example.com" if kind % 3 else f"svc{kind % 7}.eu-{number}.example.net"
        method, path = (("GET", "logs"), ("POST", "logs"), ("GET", ""))[number % 3]
        tail = f"/v1/kind{kind}/run-{salt}-{number}/{path}" if path else f"/v2/none/{salt}-{number}"
        out.append(facts_from_url(method, f"https://{host}{tail}", headers))
    return out


def measure(catalog: Catalog, grant: Grant, requests: list[RequestFacts]) -> list[float]:
    """Microseconds a decision, one by one."""
    out = []
    for facts in requests:
        begin = time.perf_counter_ns()
        decide(catalog, grant, facts, now=NOW)
        out.append((time.perf_counter_ns() - begin) / 1000)
    return out


def main() -> None:
    """Print a table; the last line is the ratio of the medians."""
    gc.disable()
    setups = {}
    for size in (50, 5000):
        catalog = catalog_of(size)
        grant = grant_of_ids(catalog, [e for e in catalog.effects if e.endswith("read")])
        setups[size] = (catalog, grant)
        measure(catalog, grant, requests_for(size))
    results: dict[int, list[tuple[float, float]]] = {size: [] for size in setups}
    for salt in range(1, ROUNDS + 1):
        for size, (catalog, grant) in setups.items():
            times = sorted(measure(catalog, grant, requests_for(size, salt)))
            results[size].append((times[len(times) // 2], times[len(times) * 99 // 100]))
    medians = {}
    for size, rows in results.items():
        p50, p99 = (statistics.median(column) for column in zip(*rows, strict=True))
        medians[size] = p50
        print(f"{size:>5} effects: p50 {p50:6.1f} us   p99 {p99:6.1f} us   (median of {ROUNDS} runs of {REQUESTS})")
    print(f"ratio of p50, 5,000 to 50: {medians[5000] / medians[50]:.2f}")


if __name__ == "__main__":
    main()
