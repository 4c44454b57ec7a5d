"""One gate with two origins for the whole directory, and the two users that commands run as."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from isolate.cells import AGENT, House
from live.gate import ROOT, Gate, serving
from live.ledger import HOSTS, write_packs
from origin.certificates import Authority
from origin.githost import GitHost
from origin.plays import by_host
from origin.server import Origins, opened


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    authority = Authority(tmp_path_factory.mktemp("authority"))
    hosted = GitHost(tmp_path_factory.mktemp("github") / "root")
    hosted.create("acme/web.git")
    with opened(authority) as origins:
        gate = _gate(tmp_path_factory, origins, hosted, authority)
        with serving(gate):
            yield House(gate, tmp_path_factory.mktemp("cwd"))


def _gate(places: pytest.TempPathFactory, origins: Origins, hosted: GitHost, authority: Authority) -> Gate:
    secure, plain = origins.open(by_host({"github.com": hosted})), origins.open(by_host({}), tls=False)
    directory = places.mktemp("installation")
    packs = write_packs(directory)
    shutil.copy(ROOT / "effects" / "git.toml", packs)
    gate = Gate(directory, packs=[packs])
    answers = {f"{host}:443": secure.address for host in (*HOSTS, "github.com")}
    answers |= {f"{host}:80": plain.address for host in HOSTS}
    gate.configure([AGENT], network={"resolve": answers, "upstream_ca": str(authority.pem)})
    return gate
