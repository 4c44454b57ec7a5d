"""A real `effectgate serve` for a load, and what its process takes, read from /proc."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from live.gate import ROOT, Agent, Gate

AGENT = Agent("load", ["load/read", "load/write", "load/form"])
HERE = Path(__file__).parent


def load_gate(directory: Path, secure: int, plain: int, anchors: Path) -> Gate:
    """A gate, not yet started, before an origin on these two ports."""
    packs = directory / "packs"
    shutil.copytree(ROOT / "tests" / "data" / "live" / "packs" / "ceilings", packs / "ceilings")
    shutil.copy(HERE / "pack.toml", packs / "load.toml")
    gate = Gate(directory, packs=[packs])
    resolve = {"load.test:443": f"127.0.0.1:{secure}", "load.test:80": f"127.0.0.1:{plain}"}
    gate.configure([AGENT], network={"resolve": resolve, "upstream_ca": str(anchors)})
    return gate


@dataclass(frozen=True, slots=True)
class Taken:
    """Resident memory in KiB, open file descriptors, threads."""

    rss: int
    fds: int
    threads: int

    @classmethod
    def by(cls, pid: int) -> Taken:
        """What this process takes now."""
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        fields = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
        fds = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        return cls(int(fields["VmRSS"][0]), fds, int(fields["Threads"][0]))

    def __str__(self) -> str:
        return f"{self.rss / 1024:7.1f} MiB {self.fds:5d} fds {self.threads:3d} threads"
