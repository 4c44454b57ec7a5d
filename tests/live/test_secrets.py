"""Secrets planted in every place where one can be, carried to every kind of outcome, and everything written or said searched for them."""

from __future__ import annotations

import base64
import contextlib
import itertools
import secrets
import signal
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import WebSocketException

from live.ask import Request, plain, tls_2
from live.gate import Agent, Gate, effectgate, serving, wait
from live.ledger import Pair, ledger_gate, locked
from live.wire import Door, exchange, head, read_head, websocket_through
from origin.certificates import Authority
from origin.journal import Reply, Seen
from origin.server import Origins

VAULT = """\
[plugin]
name = "vault"
version = 1

[[effect]]
id = "read-hook"
title = "Read a hook"
risk = "read"
[effect.lowers]
operations = ["web_fetch"]
hosts = ["api.ledger.test"]
[effect.matches]
http = [
  { method = "GET", host = "api.ledger.test", path = "/hooks/{token}", secret = ["token"] },
  { method = "GET", scheme = "http", host = "api.ledger.test", path = "/hooks/{token}", secret = ["token"] },
]

[[effect]]
id = "call-hook"
title = "Call a hook"
risk = "publish"
[effect.lowers]
operations = ["web_fetch"]
hosts = ["api.ledger.test"]
[effect.matches]
http = [
  { method = "POST", host = "api.ledger.test", path = "/hooks/{token}", secret = ["token"] },
  { method = "POST", scheme = "http", host = "api.ledger.test", path = "/hooks/{token}", secret = ["token"] },
]
"""
AGENT = Agent(
    "reader", ["ledger/read-items", "ledger/search", "ledger/write-item", "ledger/read-package", "vault/read-hook"]
)
PLACES = (
    "authorization", "basic", "cookie", "api-key", "header", "query", "body", "form", "refused-path", "secret-path", "userinfo",
    "frame", "connect-header", "cut-header", "wrong-token", "wrong-in-tunnel", "set-cookie", "origin-header", "origin-page",
    "origin-status-line", "origin-nonsense", "reason", "flood", "huge",
)  # fmt: skip
# What an agent sent it is told back where it asked: paths of its own requests, in its own refusal.
TOLD_BACK = frozenset({"refused-path", "secret-path", "flood"})
HOST = "api.ledger.test"
BURST = 60  # refusals that have receipts of their own; those of the test need fewer
ITEM = f"https://{HOST}/items/7"


class FaultyGate(Gate):
    """A gate whose hooks can be made to fail, so that it logs tracebacks."""

    program = (str(Path(__file__).with_name("faulty_serve.py")),)

    @property
    def switch(self) -> Path:
        """See faulty_serve.py."""
        return self.directory / "fault"


@pytest.fixture(scope="module")
def planted() -> dict[str, str]:
    return {place: f"{place}-{secrets.token_hex(16)}" for place in PLACES}


@pytest.fixture(scope="module")
def pair(origins: Origins, planted: dict[str, str]) -> Pair:
    def play(seen: Seen) -> Reply:
        """An origin that tells its own secrets, in every way that a response has."""
        fields = ((b"Set-Cookie", planted["set-cookie"].encode()), (b"X-Origin", planted["origin-header"].encode()))
        return Reply(500 if b"fail" in seen.target else 200, planted["origin-page"].encode(), "text/html", fields)

    return Pair.open(origins, play)


@pytest.fixture(scope="module")
def gate(
    tmp_path_factory: pytest.TempPathFactory, pair: Pair, authority: Authority, planted: dict[str, str]
) -> Iterator[FaultyGate]:
    gate = ledger_gate(FaultyGate, tmp_path_factory.mktemp("secrets"), [AGENT], pair, authority)
    (gate.directory / "packs" / "vault.toml").write_text(VAULT)
    with _bad_origin(planted) as port:
        gate.settings["network"]["resolve"]["files.ledger.test:80"] = f"127.0.0.1:{port}"
        gate.configure([AGENT])
        with serving(gate, EFFECTGATE_TEST_FAULT=str(gate.switch), EFFECTGATE_TEST_BURST=str(BURST)):
            yield gate


class Heard:
    """Everything that the proxy itself said to its client; what an origin said is the client's to read."""

    def __init__(self) -> None:
        self.said: list[bytes] = []

    def take(self, status: int, headers: dict[str, str], body: bytes) -> int:
        """Keep an answer if it is ours."""
        if headers.get("x-origin") is None:
            self.said.append(repr(headers).encode() + body)
        return status


def _headers(planted: dict[str, str]) -> list[tuple[str, str]]:
    return [
        ("Authorization", f"Bearer {planted['authorization']}"),
        ("Cookie", f"session={planted['cookie']}"),
        ("X-Api-Key", planted["api-key"]),
        ("X-Custom", planted["header"]),
    ]


def _requests(planted: dict[str, str]) -> list[Request]:
    """Requests that end as ALLOW, DENY and 400, over every transport."""
    basic = base64.b64encode(f"user:{planted['basic']}".encode()).decode()
    headers = _headers(planted)
    form = [("Content-Type", "application/x-www-form-urlencoded"), ("Authorization", f"Basic {basic}")]
    return [
        Request("GET", f"{ITEM}?token={planted['query']}", headers),
        Request("GET", f"{ITEM}?{planted['query']}", headers),
        Request("GET", f"https://{HOST}/items/fail", headers),
        Request("DELETE", f"{ITEM}?token={planted['query']}", headers),
        Request("GET", f"https://unknown.test/{planted['refused-path']}?token={planted['query']}", headers),
        Request("PUT", ITEM, headers, planted["body"].encode()),
        Request("POST", f"https://{HOST}/rpc", form, f"op=find&q={planted['form']}".encode()),
        Request("POST", f"https://{HOST}/rpc", form, f"op=purge&q={planted['form']}".encode()),
        Request("GET", f"https://{HOST}/items/../{planted['refused-path']}", headers),
        Request("GET", f"https://{HOST}/hooks/{planted['secret-path']}", headers),
        Request("POST", f"https://{HOST}/hooks/{planted['secret-path']}", headers),
        Request("GET", ITEM, [*headers, ("Proxy-Authorization", f"Basic {planted['wrong-in-tunnel']}")]),
        Request("GET", ITEM, [*headers, ("X-Many", planted["huge"] + "x" * 70_000)]),
        Request("GET", f"https://files.ledger.test/tool?{planted['query']}", headers),
    ]


def _ask(gate: FaultyGate, requests: list[Request], heard: Heard) -> set[int]:
    statuses = set()
    for request in requests:
        for ask in (plain, tls_2):
            with contextlib.suppress(OSError):
                answer = ask(gate.door(AGENT), request)
                statuses.add(heard.take(answer.status, answer.headers, answer.body))
    return statuses


def _strangers(door: Door, planted: dict[str, str], heard: Heard) -> None:
    """Wrong credentials, and heads that become no request."""
    wrong = base64.b64encode(f"reader:{planted['wrong-token']}".encode()).decode()
    login = [("Proxy-Authorization", f"Basic {wrong}"), ("Cookie", planted["connect-header"])]
    right = [door.authorization, ("Cookie", planted["connect-header"])]
    for method, target, fields in (
        ("GET", f"http://{HOST}/items/7", login),
        ("CONNECT", f"{HOST}:443", login),
        ("CONNECT", f"{HOST}:22", right),
        ("CONNECT", f"user:{planted['userinfo']}@{HOST}:443", right),
        ("GET", f"http://user:{planted['userinfo']}@{HOST}/items/7", right),
        ("GET", f"http://{HOST}/items/7", [*right, ("X-Cut", f"a\x01{planted['cut-header']}")]),
        ("GET", f"/{planted['refused-path']}?{planted['query']}", right),
    ):
        with door.dial() as connection, contextlib.suppress(OSError, ValueError):
            connection.sendall(head(method, target, [("Host", HOST), *fields]))
            answer = read_head(connection)
            heard.take(answer.status, answer.headers, answer.body)


def _failing_parts(gate: FaultyGate, planted: dict[str, str], heard: Heard) -> set[int]:
    """Hooks that raise and a store that is locked: what is logged then has a traceback."""
    statuses = set[int]()
    get, form, hook = (_requests(planted)[place] for place in (0, 6, 9))
    requests = [get, form, hook]
    (store,) = gate.stores()
    for hook in ("requestheaders", "effectgate_decide", "responseheaders", "server_connect"):
        gate.switch.write_text(f"{hook} raise")
        statuses |= _ask(gate, requests, heard)
    gate.switch.unlink()
    with locked(store):
        return statuses | _ask(gate, requests[:1], heard)


@contextlib.contextmanager
def _bad_origin(planted: dict[str, str]) -> Iterator[int]:
    """The port of an origin whose responses are none."""
    words = itertools.cycle(
        [
            f"HTTP/1.1 200 OK\r\nContent-Length: {planted['origin-nonsense']}\r\n\r\n",
            f"{planted['origin-status-line']}\r\n\r\n",
            f"HTTP/1.1 2x0 {planted['reason']}\r\nSet-Cookie: {planted['set-cookie']}\r\n\r\n",
            f"HTTP/1.1 200 {planted['reason']}",
        ]
    )
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = server.accept()
                    with peer:
                        peer.recv(65536)
                        peer.sendall(next(words).encode())

        threading.Thread(target=serve, daemon=True).start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)


def _nonsense(gate: FaultyGate, planted: dict[str, str], heard: Heard) -> None:
    for _ in range(4):
        answer = plain(gate.door(AGENT), Request("GET", "http://files.ledger.test/tool", _headers(planted)))
        assert heard.take(answer.status, answer.headers, answer.body) == 502


def _frames(gate: FaultyGate, planted: dict[str, str]) -> None:
    with contextlib.suppress(WebSocketException), websocket_through(gate.door(AGENT), HOST, "/items/7") as messages:
        messages.send(planted["frame"])
        assert messages.recv(timeout=5) == planted["frame"]


def _folded(gate: FaultyGate, planted: dict[str, str]) -> None:
    """Refusals beyond the rate, which share one receipt."""
    request = Request("POST", f"https://{HOST}/hooks/{planted['flood']}?{planted['query']}", _headers(planted))
    with contextlib.closing(gate.door(AGENT).secure(f"{HOST}:443")) as connection:
        statuses = [exchange(connection, request.origin_form).status for _ in range(BURST + 10)]
    assert 429 in statuses


def _commands(gate: FaultyGate) -> dict[str, bytes]:
    """What the command line tells of it."""
    config = ("--config", str(gate.config))
    rows = (
        ("config", "show"), ("doctor",), ("denials",), ("denials", "--json"), ("receipts", "list", "-n", "9999"),
        ("receipts", "list", "-n", "9999", "--json"), ("receipts", "verify"), ("grant", "show"),
    )  # fmt: skip
    told = {" ".join(row): effectgate(*row, *config) for row in rows}
    return {name: (ran.stdout + ran.stderr).encode() for name, ran in told.items()}


def _written(gate: Gate) -> dict[str, bytes]:
    """Every file of the installation but the two that we wrote ourselves."""
    ours = {gate.config, gate.grants}
    return {str(file): file.read_bytes() for file in gate.directory.rglob("*") if file.is_file() and file not in ours}


@pytest.mark.timeout(300)  # it asks over a hundred times and starts eight commands
def test_no_secret_is_written_or_said(gate: FaultyGate, pair: Pair, planted: dict[str, str]) -> None:
    heard = Heard()
    statuses = _ask(gate, _requests(planted), heard)
    assert {200, 400, 403, 407, 431, 500} <= statuses, statuses
    arrived = b"".join(seen.raw + seen.body for seen in pair.requests())
    for place in ("authorization", "cookie", "api-key", "query", "body", "form", "secret-path"):
        assert planted[place].encode() in arrived, f"{place} did not arrive: this search would prove nothing"
    assert planted["wrong-in-tunnel"].encode() not in arrived
    _strangers(gate.door(AGENT), planted, heard)
    _frames(gate, planted)
    assert 503 in _failing_parts(gate, planted, heard)
    assert gate.process is not None
    gate.grants.write_text(gate.grants.read_text() + "broken: [")  # a reload that is refused is logged too
    gate.process.send_signal(signal.SIGHUP)
    assert wait(lambda: gate.metric("effectgate_reload_last_successful") == 0)
    gate.grant([AGENT])
    _nonsense(gate, planted, heard)
    _folded(gate, planted)
    running = _written(gate) | {"/metrics": gate.metrics_page().encode()}
    told = _commands(gate)
    gate.stop()
    written = running | told | {f"{name} at the end": data for name, data in _written(gate).items()}
    tokens = {"token": AGENT.token, "login": gate.door(AGENT).authorization[1].removeprefix("Basic ")}
    for place, secret in (planted | tokens).items():
        found = [name for name, data in written.items() if secret.encode() in data]
        assert not found, f"the secret in {place} was written to {found}"
        said = [text for text in heard.said if secret.encode() in text]
        assert not said or place in TOLD_BACK, f"the secret in {place} was said: {said[0]!r}"
    assert "Traceback" in gate.log()


def test_the_store_knows_tokens_by_their_hash_alone(gate: FaultyGate) -> None:
    run = effectgate("token", "new", AGENT.name, "--json", "--config", str(gate.config))
    token = run.stdout.split('"token": "')[1].split('"')[0]
    with contextlib.closing(sqlite3.connect(gate.state / "receipts.db")) as store:
        rows = repr(store.execute("SELECT * FROM tokens").fetchall())
    assert rows != "[]"
    assert token not in rows
