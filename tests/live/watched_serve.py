"""`effectgate serve` with every name lookup and every connect written down, by Python's own audit events (PEP 578)."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from effectgate.cli import main

# The same on another host's naming, where the environment names one (names/gate.py).
NAMED = Path(__file__).parents[1] / "names" / "serve.py"
WATCHED = ("socket.getaddrinfo", "socket.gethostbyname", "socket.connect", "socket.sendto")


def _watch(file: Path) -> None:
    with file.open("a", buffering=1) as log:
        sys.addaudithook(lambda event, args: print(event, args, file=log) if event in WATCHED else None)
        runpy.run_path(str(NAMED), run_name="__main__") if "EFFECTGATE_TEST_DNS_PORT" in os.environ else main()


if __name__ == "__main__":
    _watch(Path(os.environ["EFFECTGATE_TEST_WATCH"]))
