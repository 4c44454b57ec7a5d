"""The demo: offline, in a directory of its own, with the real `serve` and a local origin. Every claim that it prints is checked."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import yaml

from effectgate.app.demo_origin import HOST, Origin, playing_origin
from effectgate.config import SHIPPED_PACKS
from effectgate.identity import new_token
from effectgate.receipts.store_file import FILE_NAME
from effectgate.receipts.store_reading import reading, verify_file

AGENT = "demo"
GRANTED = "github/read-ci-logs"
MISSING = "github/open-pr"
READ = f"https://{HOST}/repos/acme/web/actions/runs/7/jobs"
WRITE = f"https://{HOST}/repos/acme/web/pulls"
READY_SECONDS = 30.0


class DemoError(Exception):
    """Something was not as it must be; the message says what."""


def expect(holds: object, claim: str) -> None:
    """Raise DemoError unless the claim holds."""
    if not holds:
        raise DemoError(f"this must hold and does not: {claim}")


@dataclass(frozen=True, slots=True)
class Stage:
    """The files of the demo, and how its one agent reaches the proxy."""

    directory: Path
    proxy_url: str
    api_port: int

    @property
    def store(self) -> Path:
        """The receipts."""
        return self.directory / "var" / FILE_NAME

    @property
    def trust(self) -> Path:
        """The public keys of the receipts."""
        return self.directory / "certs" / "receipt-trust.json"


def run_demo() -> None:
    """Print the whole story. Raises DemoError where it is not true."""
    with tempfile.TemporaryDirectory(prefix="effectgate-demo-") as name:
        directory = Path(name)
        with playing_origin(directory) as origin:
            stage = _configure(directory, origin)
            with _serving(stage):
                _requests(stage, origin)
        _receipts(stage)
        _forgery(stage)


def _configure(directory: Path, origin: Origin) -> Stage:
    proxy, api, grpc, metrics = _free_ports(4)
    token, digest = new_token()
    settings = {
        "listen": f"127.0.0.1:{proxy}",
        "api": {"http": f"127.0.0.1:{api}", "grpc": f"127.0.0.1:{grpc}"},
        "metrics": f"127.0.0.1:{metrics}",
        "packs": [str(SHIPPED_PACKS)],
        "network": {"resolve": {f"{HOST}:443": f"127.0.0.1:{origin.port}"}, "upstream_ca": str(origin.trust)},
    }
    agent = {"name": AGENT, "token": f"sha256:{digest}", "effects": [GRANTED]}
    (directory / "effectgate.yaml").write_text(yaml.safe_dump(settings))
    (directory / "grants.yaml").write_text(yaml.safe_dump({"version": 1, "agents": [agent]}))
    return Stage(directory, f"http://{AGENT}:{token}@127.0.0.1:{proxy}", api)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(one.getsockname()[1]) for one in held]


@contextmanager
def _serving(stage: Stage) -> Iterator[None]:
    """A real `effectgate serve`, ready inside the block."""
    command = [sys.executable, "-m", "effectgate", "serve", "--config", str(stage.directory / "effectgate.yaml")]
    with (stage.directory / "serve.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _wait_ready(stage, process)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_ready(stage: Stage, process: subprocess.Popen[bytes]) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), opener.open(f"http://127.0.0.1:{stage.api_port}/readyz", timeout=2):
            return
        time.sleep(0.1)
    raise DemoError(f"serve is not ready:\n{(stage.directory / 'serve.log').read_text()}")


def _requests(stage: Stage, origin: Origin) -> None:
    print(
        f"The agent `{AGENT}` holds one effect, {GRANTED}. Its HTTPS_PROXY is our proxy; {HOST} is played on 127.0.0.1.\n"
    )
    status, body, verdict = _ask(stage, "GET", READ)
    print(f"1. GET {READ}\n   {verdict} {status}  {body}\n")
    expect((status, verdict) == (200, "ALLOW"), "the read is allowed")
    status, body, verdict = _ask(stage, "POST", WRITE)
    print(f"2. POST {WRITE}\n   {verdict} {status}\n{_indented(json.dumps(json.loads(body), indent=2))}\n")
    expect((status, verdict) == (403, "DENY"), "the write is refused")
    named = [ask["effect"] for ask in json.loads(body)["would_admit"]]
    expect(named == [MISSING], f"the refusal names {MISSING}")
    expect(len(origin.seen) == 1, "the origin saw the read alone")
    print(f"   The origin saw: {origin.seen}\n")


def _ask(stage: Stage, method: str, url: str) -> tuple[int, str, str]:
    """Status, body and verdict header of one request through the proxy, as any client would send it."""
    proxies = urllib.request.ProxyHandler({"https": stage.proxy_url})
    context = ssl.create_default_context(cafile=str(stage.directory / "certs" / "ca.pem"))
    opener = urllib.request.build_opener(proxies, urllib.request.HTTPSHandler(context=context))
    request = urllib.request.Request(url, b"{}" if method == "POST" else None, method=method)
    try:
        with opener.open(request, timeout=10) as answer:
            return answer.status, answer.read().decode(), answer.headers["X-Effectgate-Verdict"]
    except HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers["X-Effectgate-Verdict"]


def _receipts(stage: Stage) -> None:
    with reading(stage.store) as store:
        receipts = [receipt for _, receipt in store.receipts() if _concerns_agent(receipt)]
    print("3. The receipts of both, each on disk before its answer (`effectgate receipts show` prints one whole):")
    for receipt in receipts:
        print(_indented(_gist(receipt)))
    expect(
        [receipt["verdict"] for receipt in receipts] in (["ALLOW", "", "DENY"], ["ALLOW", "DENY", ""]), "three receipts"
    )
    report = verify_file(stage.store, stage.trust)
    print("\n4. effectgate receipts verify\n" + _indented("\n".join(report.lines())) + "\n")
    expect(report.exit_code == 0, "the chain verifies")


def _gist(receipt: dict[str, Any]) -> str:
    """What a receipt says, and what it is tied to: its content, the receipt before it, and our key."""
    args, policy, output = receipt["args"], receipt.get("policy") or {}, receipt.get("output") or {}
    if receipt["kind"] == "completion":
        said = f"completion of {args['completes'][:16]}…: {output['status']}, {output['bytes_received']} bytes received"
    else:
        effects = [policy.get("effect"), *(entry["effect"] for entry in policy.get("would_admit", []))]
        why = " ".join(filter(None, [receipt["reason_code"], *effects]))
        said = f"{receipt['verdict']} {args['method']} {args['host']}{args['path']} ({why})"
    tied = f"receipt {receipt['receipt_id'][:16]}… after {receipt['prev_hash'][:16]}…"
    return f"{said}\n  {tied}, signed {receipt['signature'][:16]}… by {receipt['key_id']}"


def _concerns_agent(receipt: dict[str, Any]) -> bool:
    args = receipt.get("args")
    return (args.get("principal") if isinstance(args, dict) else receipt.get("principal")) == AGENT


def _forgery(stage: Stage) -> None:
    """Turn the refused path into another one of the same length, and see it caught."""
    with contextlib.closing(sqlite3.connect(stage.store)) as store, store:
        changed = store.execute(
            "UPDATE receipts SET body = replace(body, '/repos/acme/web/pulls', '/repos/acme/web/pullz') WHERE body LIKE '%/pulls%'"
        ).rowcount
    expect(changed == 1, "one receipt was altered")
    report = verify_file(stage.store, stage.trust)
    print("5. One byte of that receipt altered on disk, /pulls to /pullz, and verified again")
    print(_indented("\n".join(report.lines())) + "\n")
    expect(report.exit_code == 1 and report.faults, "the altered byte is caught")
    print("Everything above was checked as it was printed.")


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())
