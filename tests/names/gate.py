"""A real `serve` whose only nameserver is ours, for any test that counts DNS queries or scripts answers.

    with Nameserver() as dns, serving(NamedGate(directory, dns, packs=[...])) as gate:
        dns.zone["api.ledger.test"] = addresses("93.184.216.34")

`gate.hosts` is its hosts file; both it and `gate.resolv_conf` may be rewritten while it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from live.gate import ROOT, Gate
from names.nameserver import Nameserver

SERVE = ROOT / "tests" / "names" / "serve.py"


def naming(directory: Path, nameserver: Nameserver) -> dict[str, str]:
    """Write `hosts` and `resolv.conf` into a directory; the environment that makes SERVE use them, and this nameserver's port."""
    host, port = nameserver.address
    (directory / "hosts").write_text("127.0.0.1 localhost\n")
    (directory / "resolv.conf").write_text(f"search corp.test example.test\noptions ndots:5\nnameserver {host}\n")
    return {
        "EFFECTGATE_TEST_HOSTS": str(directory / "hosts"),
        "EFFECTGATE_TEST_RESOLV_CONF": str(directory / "resolv.conf"),
        "EFFECTGATE_TEST_DNS_PORT": str(port),
    }


class NamedGate(Gate):
    """A Gate that asks `nameserver` and reads a hosts file of its own."""

    program: Sequence[str] = (str(SERVE),)

    def __init__(self, directory: Path, nameserver: Nameserver, *, packs: Sequence[Path] = (ROOT / "effects",)) -> None:
        super().__init__(directory, packs=packs)
        self.hosts, self.resolv_conf = directory / "hosts", directory / "resolv.conf"
        self._naming = naming(directory, nameserver)

    def start(self, **more: str) -> None:
        """As in the base class."""
        super().start(**self._naming, **more)
