"""The shipped catalogue held against the operations that vendors publish.

Run: python bench/catalogue.py [--packs DIR] [--offenders N] [--alone] FILE.tsv...; the files are those of bench/operations.py. With all plain reads
granted, per vendor: mutating operations admitted (must be 0), reads admitted, operations recognised; then operations an effect (those that name it
most specifically), median and most. `--alone` also grants each effect by itself and looks for what it admits on hosts outside its own.
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "addons"))

from effectgate.packs_io import Library, load_directories
from effectgate.policy.catalog import Catalog
from effectgate.policy.decision import decide
from effectgate.policy.facts import EnvelopeError, RequestFacts, facts_from_url
from effectgate.policy.grant import Grant, grant_of_ids
from effectgate.policy.host import HostPattern
from effectgate.policy.recognition import recognise
from effectgate.policy.site import Sites
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import Risk

ROOT = Path(__file__).parents[1]
NOW = datetime(2026, 11, 30, tzinfo=UTC)
PORTS = frozenset({80, 443})
DISPUTES = ROOT / "tests" / "data" / "label-disputes.tsv"
SITES = {"kubernetes": ["k8s.example.internal:6443"], "jira": ["your-domain.atlassian.net"]}


@dataclass(frozen=True, slots=True)
class Operation:
    """One row, as a request; `error` where it cannot be one."""

    vendor: str
    name: str
    access: str
    facts: RequestFacts | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """An operation, the verdict under all plain reads, and the effect that names it most specifically."""

    operation: Operation
    verdict: Verdict | None
    effect: str


@functools.cache
def disputed() -> frozenset[tuple[str, str]]:
    """Vendor and operation of each label that we hold to be wrong."""
    with DISPUTES.open(newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return frozenset((row["vendor"], row["operation"]) for row in rows)


def operations(file: Path) -> Iterator[Operation]:
    """The rows of a file; a disputed label counts as none."""
    with file.open(newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            access = "disputed" if (file.stem, row["operation"]) in disputed() else row["access"]
            headers = json.loads(row["headers"] or "{}").items()
            body = (row["body"] or "").encode() or None
            try:
                facts = facts_from_url(row["method"], row["url"], headers, body)
            except EnvelopeError as error:
                yield Operation(file.stem, row["operation"], access, None, str(error))
            else:
                yield Operation(file.stem, row["operation"], access, facts)


def answered(catalog: Catalog, grant: Grant, operation: Operation) -> Answered:
    """The operation put to the catalogue."""
    if operation.facts is None:
        return Answered(operation, None, "")
    named = [match for match in recognise(catalog.candidates(operation.facts), operation.facts) if match.named]
    effect = min(named, key=lambda match: match.entry.rank).effect.id if named else ""
    return Answered(operation, decide(catalog, grant, operation.facts, now=NOW, ports=PORTS), effect)


def plain_reads(catalog: Catalog) -> list[str]:
    """The widest grant that may change nothing."""
    return [effect.id for effect in catalog.effects.values() if effect.risk is Risk.READ and not effect.reserved]


def report(vendor: str, rows: list[Answered], offenders: int) -> None:
    """One line for the vendor, and what falls short."""
    by_access = {access: [row for row in rows if row.operation.access == access] for access in ("read", "mutate")}
    admitted = [row for row in by_access["mutate"] if row.verdict and row.verdict.allowed]
    refused = [row for row in by_access["read"] if not (row.verdict and row.verdict.allowed)]
    unnamed = [row for row in rows if not row.effect]
    sizes = Counter(row.effect for row in rows if row.effect)
    reads = len(by_access["read"])
    median = statistics.median(sizes.values()) if sizes else 0
    print(
        f"{vendor:12} {len(rows):6} operations   mutating admitted {len(admitted):3}   "
        f"reads admitted {100 * (reads - len(refused)) / max(reads, 1):6.2f} %   "
        f"recognised {100 * (1 - len(unnamed) / len(rows)):6.2f} %   "
        f"{len(sizes):5} effects, median {median:g}, most {max(sizes.values(), default=0)}"
    )
    for title, some in (("ADMITTED", admitted), ("refused", refused), ("unnamed", unnamed)):
        for row in some[:offenders]:
            facts, verdict = row.operation.facts, row.verdict
            where = f"{facts.method} {facts.host}/{'/'.join(facts.segments)}" if facts else row.operation.error
            by = (verdict.effect or ", ".join(n.effect for n in verdict.recognised)) if verdict else ""
            print(f"    {title:9} {row.operation.name}  {where}  {by}")


def strangers(catalog: Catalog, rows: list[Answered]) -> Iterator[str]:
    """What some effect, granted alone, could admit on a host that it does not list."""
    for row in rows:
        facts = row.operation.facts
        for named in row.verdict.recognised if row.verdict and facts else ():
            listed = [host for host in catalog.effects[named.effect].hosts if not host.startswith("@")]
            sites = any(shape.site for shape in catalog.shapes(named.effect))
            if facts and not sites and all(HostPattern.parse(host).match(facts.host) is None for host in listed):
                yield f"{named.effect} on {facts.host}"


def loaded(packs: list[Path]) -> Library:
    """The packs, with the clock shown."""
    begin = time.perf_counter()
    library = load_directories(packs, sites=Sites.parse(SITES))
    shapes = sum(len(effect.shapes) for effect in library.catalog.effects.values())
    print(
        f"{len(library.packs)} packs, {len(library.catalog.effects)} effects, {shapes} shapes: {time.perf_counter() - begin:.2f} s to load"
    )
    return library


def main() -> int:
    """Print the report; exit 1 where something that changes is admitted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--packs", action="append", type=Path)
    parser.add_argument("--offenders", type=int, default=5)
    parser.add_argument("--alone", action="store_true")
    options = parser.parse_args()
    catalog = loaded(options.packs or [Path(__file__).parents[1] / "effects"]).catalog
    grant = grant_of_ids(catalog, plain_reads(catalog))
    total: list[Answered] = []
    begin = time.perf_counter()
    for file in options.files:
        rows = [answered(catalog, grant, operation) for operation in operations(file)]
        report(file.stem, rows, options.offenders)
        total += rows
    spent = time.perf_counter() - begin
    report("all", total, 0)
    print(f"{len(total) / spent:.0f} operations a second")
    for line in sorted(set(strangers(catalog, total))) if options.alone else ():
        print(f"    STRANGER  {line}")
    return int(any(r.operation.access == "mutate" and r.verdict and r.verdict.allowed for r in total))


if __name__ == "__main__":
    sys.exit(main())
