"""Bad files: every fault of a run is told with file, key, line and fix; what serves goes on with what it had, and says so."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.ask import Request, tls_1
from live.gate import Agent, Gate, effectgate, serving, wait
from live.ledger import Pair, ledger_gate
from origin.certificates import Authority
from origin.server import Origins

AGENT = Agent("reader", ["ledger/read-items"])
GET = Request("GET", "https://api.ledger.test/items/7")
BAD_PACK = """\
[plugin]
name = "broken"
version = 1

[[effect]]
id = "Bad_Id"
title = "One"
risk = "harmless"
[effect.lowers]
operations = ["web_fetch"]
hosts = ["a.test"]
[effect.matches]
http = [
  { method = "GET", host = "*foo.test", path = "/x" },
  { method = "GET", host = "b.test", path = "/x", colour = "red" },
]
"""
BAD_GRANTS = """\
version: 1
agents:
  - name: reader
    token: "sha256:short"
    ceiling: live-tests
    effects:
      - ledger/read-itms
      - {effect: ledger/read-items, where: {colour: red}}
    colour: red
"""
BAD_SETTINGS = """\
listen: "nowhere"
colour: red
workers: none
network:
  ports: [80, 70000]
"""
# What each fault must be told with, beside the name of its file.
PACK_FAULTS = ("Bad_Id", "harmless", "*foo.test", "colour")
GRANT_FAULTS = ("token", "ledger/read-items", "where", "colour")
SETTING_FAULTS = ("listen", "colour", "workers", "70000")


@pytest.fixture(scope="module")
def pair(origins: Origins) -> Pair:
    return Pair.open(origins)


@pytest.fixture
def gate(tmp_path: Path, pair: Pair, authority: Authority) -> Gate:
    return ledger_gate(Gate, tmp_path, [AGENT], pair, authority)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, pair: Pair, authority: Authority) -> Iterator[Gate]:
    with serving(ledger_gate(Gate, tmp_path_factory.mktemp("reload"), [AGENT], pair, authority)) as gate:
        yield gate


def _all_told(printed: str, file: str, faults: tuple[str, ...]) -> None:
    lines = [line for line in printed.splitlines() if file in line]
    for fault in faults:
        assert any(fault in line for line in lines), (fault, printed)
    assert all(re.search(r":\d+", line) for line in lines), printed


@pytest.mark.parametrize(
    ("file", "text", "faults"),
    [
        ("packs/broken.toml", BAD_PACK, PACK_FAULTS),
        ("grants.yaml", BAD_GRANTS, GRANT_FAULTS),
        ("effectgate.yaml", BAD_SETTINGS, SETTING_FAULTS),
    ],
)
def test_a_start_tells_every_fault_and_does_not_serve(
    gate: Gate, file: str, text: str, faults: tuple[str, ...]
) -> None:
    (gate.directory / file).write_text(text)
    run = effectgate("serve", "--config", str(gate.config))
    assert run.returncode == 2, run.stdout + run.stderr
    _all_told(run.stderr, file.rpartition("/")[2], faults)


def test_packs_lint_tells_every_fault(gate: Gate) -> None:
    packs = gate.directory / "packs"
    (packs / "broken.toml").write_text(BAD_PACK)
    run = effectgate("packs", "lint", str(packs))
    assert run.returncode == 1, run.stderr
    _all_told(run.stdout + run.stderr, "broken.toml", PACK_FAULTS)


@pytest.mark.parametrize(
    ("file", "text", "faults"),
    [("packs/broken.toml", BAD_PACK, PACK_FAULTS), ("grants.yaml", BAD_GRANTS, GRANT_FAULTS)],
)
def test_a_bad_reload_keeps_the_old_state_and_says_so(
    served: Gate, file: str, text: str, faults: tuple[str, ...]
) -> None:
    assert tls_1(served.door(AGENT), GET).status == 200
    digest, errors = _digest(served), served.metric("effectgate_reload_total", result="error")
    good = served.directory / file
    before = good.read_text() if good.exists() else None
    good.write_text(text)
    assert wait(lambda: served.metric("effectgate_reload_total", result="error") > errors)
    assert tls_1(served.door(AGENT), GET).status == 200
    assert _digest(served) == digest
    assert served.status("/readyz") == 200
    for fault in faults:
        assert fault in served.log()
    well = served.metric("effectgate_reload_total", result="ok")
    good.unlink() if before is None else good.write_text(before)
    assert wait(lambda: served.metric("effectgate_reload_total", result="ok") > well)
    assert tls_1(served.door(AGENT), GET).status == 200


def test_a_reload_by_signal(served: Gate) -> None:
    before = served.metric("effectgate_reload_total")
    assert served.process is not None
    served.process.send_signal(signal.SIGHUP)
    assert wait(lambda: served.metric("effectgate_reload_total") > before)
    assert tls_1(served.door(AGENT), GET).status == 200


def test_a_new_grant_admits_within_seconds(served: Gate) -> None:
    post = Request("PUT", "https://api.ledger.test/items/7")
    assert tls_1(served.door(AGENT), post).status == 403
    wider = Agent(AGENT.name, [*AGENT.effects, "ledger/write-item"], token=AGENT.token)
    served.grant([wider])
    assert wait(lambda: tls_1(served.door(AGENT), post).status == 200)


def _digest(gate: Gate) -> list[str]:
    return [line for line in gate.metrics_page().splitlines() if line.startswith("effectgate_catalog_info{")]
