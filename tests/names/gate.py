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


class NamedGate(Gate):
    """A Gate that asks `nameserver` and reads a hosts file of its own."""

    program: Sequence[str] = (str(SERVE),)

    def __init__(self, directory: Path, nameserver: Nameserver, *, packs: Sequence[Path] = (ROOT / "effects",)) -> None:
        super().__init__(directory, packs=packs)
        self.nameserver = nameserver
        self.hosts = directory / "hosts"
        self.hosts.write_text("127.0.0.1 localhost\n")
        self.resolv_conf = directory / "resolv.conf"
        host, _ = nameserver.address
        self.resolv_conf.write_text(f"search corp.test example.test\noptions ndots:5\nnameserver {host}\n")

    def start(self, **more: str) -> None:
        """As in the base class."""
        ours = {
            "EFFECTGATE_TEST_HOSTS": str(self.hosts),
            "EFFECTGATE_TEST_RESOLV_CONF": str(self.resolv_conf),
            "EFFECTGATE_TEST_DNS_PORT": str(self.nameserver.address[1]),
        }
        super().start(**ours, **more)
