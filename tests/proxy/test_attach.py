"""`mitmdump -s`: the same gate on a stock mitmdump, and what happens when its script is edited."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .client import AUTH, Wire
from .harness import eventually
from .origins import Origin

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from pathlib import Path
from mitmproxy import ctx
sys.path[:0] = [{root!r} + "/addons", {root!r} + "/tests"]
from effectgate.boundary import Caller
from effectgate.proxy.attach import attach
from effectgate.proxy.settings import ProxySettings
from proxy.client import AGENT
from proxy.fake import FakeBoundary

async def local(*_):
    return 200, [], b""

class Egress:
    def load(self, loader):
        settings = ProxySettings(Path({certs!r}), ("127.0.0.1", {port}), resolve={{("allowed.test", 80): ("127.0.0.1", {origin})}})
        attach(ctx.master, settings, FakeBoundary(), lambda header: Caller("agent") if header == AGENT else None, local)

addons = [Egress()]
"""


@pytest.fixture
def mitmdump(tmp_path: Path, keys: Path) -> Iterator[tuple[int, Path, Origin, Path]]:
    """A stock mitmdump with the gate: its port, the script, an origin, and its log."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    there = Origin()
    script, log = tmp_path / "egress.py", tmp_path / "log"
    script.write_text(SCRIPT.format(root=str(ROOT), certs=str(keys / "proxy"), port=port, origin=there.port))
    command = [Path(sys.executable).parent / "mitmdump", "-s", script, "--listen-host", "127.0.0.1", "-p", str(port)]
    command += ["--set", f"confdir={tmp_path / 'conf'}", "--set", "connection_strategy=eager", "--set", "rawtcp=true"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | {"PYTHONWARNINGS": ""})
    try:
        assert eventually(lambda: "listening" in log.read_text(), 30), log.read_text()
        yield port, script, there, log
    finally:
        process.terminate()
        process.wait(10)
        there.close()


def ask(port: int, host: str, auth: str = AUTH) -> tuple[int, str]:
    with Wire(("127.0.0.1", port)) as wire:
        wire.send(f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n{auth}\r\n")
        answer = wire.reply()
        return answer.status, answer.body.decode()


def test_the_gate_holds_and_outlives_its_script(mitmdump: tuple[int, Path, Origin, Path]) -> None:
    port, script, there, log = mitmdump
    assert ask(port, "allowed.test") == (200, "hello")
    assert ask(port, "allowed.test", "")[0] == 407
    assert ask(port, "denied.test")[0] == 403
    with Wire(("127.0.0.1", port)) as wire:
        assert wire.connect("denied.test:22").reason == "SANDBOX_VIOLATION"
    with Wire(("127.0.0.1", port)) as wire:
        wire.connect("allowed.test:443")
        wire.send(b"SSH-2.0-x\r\n")
        assert wire.closed()
    before = there.accepts
    time.sleep(1.1)  # the script's modification time is looked at once a second
    script.write_text("this is no Python (")
    assert eventually(lambda: bool(re.search("error in script|SyntaxError|invalid syntax", log.read_text())), 10)
    assert ask(port, "denied.test")[0] == 403
    assert ask(port, "allowed.test") == (200, "hello")
    assert there.accepts > before


def test_egress_only_hands_over(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    import types

    from mitmproxy import ctx

    handed: list[object] = []
    fake = types.ModuleType("effectgate.app")
    fake.attach = handed.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "effectgate.app", fake)
    monkeypatch.setattr("effectgate.app", fake, raising=False)
    monkeypatch.setattr(ctx, "master", "the master", raising=False)
    egress = importlib.import_module("egress")
    egress.addons[0].load(None)
    assert handed == ["the master"]
