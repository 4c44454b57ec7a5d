"""What test_naming_namespace.py runs in namespaces: the product as it is, on a host whose `/etc` leads to our nameserver.

Prints one JSON object: status, kind of failure and address in the receipt by host, and every name that was asked for.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from live.gate import Gate, serving
from names.conftest import AGENT, Scene, write_pack
from names.nameserver import Nameserver, addresses
from names.namespace import bring_up_loopback, put_over_etc
from origin.certificates import Authority
from origin.plays import echo
from origin.server import opened

RESOLVER = "127.0.0.53"
ETC = {
    "resolv.conf": f"search corp.test example.test\noptions ndots:15 edns0\nnameserver {RESOLVER}\n",
    "hosts": "127.0.0.1 localhost listed.names.test refused.test\n10.9.8.7 listed-private.names.test\n",
    "nsswitch.conf": "hosts: files mdns4_minimal [NOTFOUND=return] dns myhostname\n",
}
# What glibc would take from the environment (resolver(3)).
ENVIRONMENT = {"LOCALDOMAIN": "leak.test", "RES_OPTIONS": "ndots:15", "HOSTALIASES": "aliases"}
ASKED = (
    "public.names.test",
    "private.names.test",
    "gone.names.test",
    "listed.names.test",
    "listed-private.names.test",
    "refused.test",
    "names.local",
)


def main(directory: Path) -> None:
    """Serve, ask for each host, tell."""
    bring_up_loopback()
    put_over_etc(ETC, directory)
    (directory / "aliases").write_text("gone leak.test\n")
    with opened(Authority(directory)) as origins, Nameserver(RESOLVER, 53) as dns:
        dns.zone["public.names.test"] = addresses("127.0.0.1")
        dns.zone["private.names.test"] = addresses("127.0.0.1", "10.0.0.1")
        origin = origins.open(echo, tls=False)
        gate = Gate(directory, packs=[directory / "packs"])
        write_pack(directory / "packs", [origin.port])
        gate.configure([AGENT], network={"ports": [origin.port], "allow_private": ["127.0.0.1/32"]})
        with serving(gate, **ENVIRONMENT):
            told = {host: _told(Scene(gate, dns, origin), host) for host in ASKED}
            print(json.dumps({"hosts": told, "asked": sorted(dns.names()), "accepts": origin.journal.accepts}))


def _told(scene: Scene[Gate], host: str) -> list[object]:
    response = scene.get(host)
    allowed = response.headers.get("x-effectgate-effect", "")
    return [response.status, response.json.get("failure", ""), scene.completion(response)["address"] if allowed else ""]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
