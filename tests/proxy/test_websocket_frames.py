"""WebSocket handshakes and frames that break RFC 6455, from either side; what is good passes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from effectgate.proxy.settings import ProxySettings

from .client import Wire
from .harness import Proxy, eventually, origin_context
from .origins import Exchange, Origin
from .ws import ACCEPT, KEY, frame

HOST = "allowed.test"
Stage = tuple[Proxy, Origin]

# From a client, whose frames are masked (a mask of zero).
BAD_CLIENT = {
    "unmasked": frame(b"hello", masked=False),
    "a reserved bit": b"\xc1\x85\0\0\0\0hello",
    "all reserved bits": b"\xf1\x85\0\0\0\0hello",
    "an opcode nobody knows": b"\x83\x85\0\0\0\0hello",
    "a control opcode nobody knows": b"\x8b\x80\0\0\0\0",
    "a ping too long": frame(b"x" * 126, masked=True, opcode=9),
    "a close too long": frame(b"\x03\xe8" + b"x" * 124, masked=True, opcode=8),
    "a ping in pieces": frame(b"x", masked=True, opcode=9, final=False),
    "a continuation of nothing": frame(b"x", masked=True, opcode=0),
    "a message within a message": frame(b"a", masked=True, final=False) + frame(b"b", masked=True),
    "text that is no UTF-8": frame(b"\xff\xfe", masked=True),
    "a close of one byte": frame(b"\x03", masked=True, opcode=8),
    "a close with a reserved code": frame(b"\x03\xed", masked=True, opcode=8),
    "a length of 2 to the 63": b"\x82\xff" + b"\xff" * 8 + b"\0\0\0\0",
    "a request": b"GET /denied HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
    "TLS": b"\x16\x03\x01\x00\x05hello",
}
BAD_SERVER = {
    "masked": frame(b"hello", masked=True),
    "a reserved bit": b"\xc1\x05hello",
    "an opcode nobody knows": b"\x83\x05hello",
    "a ping too long": b"\x89\x7e\x00\x7e" + b"x" * 126,
    "a continuation of nothing": frame(b"x", masked=False, opcode=0),
    "text that is no UTF-8": frame(b"\xff\xfe", masked=False),
    "a close of one byte": frame(b"\x03", masked=False, opcode=8),
    "a response": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
}
GOOD = {
    "a text": frame(b"hello", masked=True),
    "bytes": frame(b"\xff\xfe", masked=True, opcode=2),
    "an empty text": frame(b"", masked=True),
    "126 bytes": frame(b"x" * 126, masked=True),
    "70,000 bytes": frame(b"x" * 70_000, masked=True, opcode=2),
    "pieces": frame(b"a", masked=True, final=False) + frame(b"", masked=True, opcode=0, final=False) + frame(b"b", masked=True, opcode=0),
    "a ping among pieces": frame(b"a", masked=True, final=False) + frame(b"p", masked=True, opcode=9) + frame(b"b", masked=True, opcode=0),
}  # fmt: skip
BAD_HANDSHAKES = {
    "no key": "Sec-WebSocket-Version: 13\r\n",
    "an empty key": "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key:\r\n",
    "a short key": "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c2hvcnQ=\r\n",
    "a key that is no base64": "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: !!!!!!!!!!!!!!!!!!!!!!==\r\n",
    "two keys": f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Key: {KEY}\r\n",
    "no version": f"Sec-WebSocket-Key: {KEY}\r\n",
    "version 8": f"Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: {KEY}\r\n",
    "two versions": f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Version: 8\r\nSec-WebSocket-Key: {KEY}\r\n",
}
NO_HANDSHAKES = {
    "POST": "POST /echo HTTP/1.1\r\nConnection: Upgrade\r\n",
    "DELETE": "DELETE /echo HTTP/1.1\r\nConnection: Upgrade\r\n",
    "HEAD": "HEAD /echo HTTP/1.1\r\nConnection: Upgrade\r\n",
    "HTTP/1.0": "GET /echo HTTP/1.0\r\nConnection: Upgrade\r\n",
    "no Connection": "GET /echo HTTP/1.1\r\n",
    "Connection: close": "GET /echo HTTP/1.1\r\nConnection: close\r\n",
    "another token": "GET /echo HTTP/1.1\r\nConnection: keep-alive, upgrades\r\n",
}
CONNECTIONS = ["upgrade", "keep-alive, Upgrade", "keep-alive,\tUPGRADE", "keep-alive\r\nConnection: Upgrade"]
SWITCHES = {
    "no accept": "Upgrade: websocket\r\nConnection: Upgrade\r\n",
    "another accept": "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n",
    "two accepts": f"Upgrade: websocket\r\nSec-WebSocket-Accept: {ACCEPT}\r\nSec-WebSocket-Accept: {ACCEPT}\r\n",
    "another protocol": f"Upgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {ACCEPT}\r\n",
    "two protocols": f"Upgrade: websocket\r\nUpgrade: h2c\r\nSec-WebSocket-Accept: {ACCEPT}\r\n",
    "no protocol": f"Sec-WebSocket-Accept: {ACCEPT}\r\n",
    "an extension nobody offered": f"Upgrade: websocket\r\nSec-WebSocket-Accept: {ACCEPT}\r\nSec-WebSocket-Extensions: permessage-deflate\r\n",
}


def play(exchange: Exchange) -> None:
    """Accepts, or switches as the path says; then says what the path says, and echoes whatever comes."""
    kind, _, name = exchange.head().split(b" ")[1].decode().replace("%20", " ").removeprefix("/").partition("/")
    fields = (
        SWITCHES[name]
        if kind == "switch"
        else f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {ACCEPT}\r\n"
    )
    said = BAD_SERVER[name] if kind == "say" else frame(b"hi", masked=False) if kind == "greet" else b""
    exchange.send(f"HTTP/1.1 101 Switching Protocols\r\n{fields}\r\n".encode() + said)
    while exchange.read():
        exchange.send(frame(b"hi", masked=False))


@pytest.fixture(scope="module")
def stage(keys: Path) -> Iterator[Stage]:
    origin = Origin(play, origin_context(keys / "origins", HOST))
    settings = ProxySettings(
        certs=keys / "proxy", listen=("127.0.0.1", 0), upstream_ca=keys / "origins" / "ca.pem",
        resolve={(HOST, 443): ("127.0.0.1", origin.port)},
    )  # fmt: skip
    gate = Proxy(settings).start()
    yield gate, origin
    gate.stop()
    origin.close()


def begin(stage: Stage) -> tuple[Proxy, Origin]:
    gate, origin = stage
    assert eventually(lambda: not gate.engine.gate.sessions.occupancy.requests)
    origin.received = b""
    gate.boundary.completed.clear()
    return gate, origin


def ask(wire: Wire, path: str, fields: str = f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n") -> None:
    target = path.replace(" ", "%20")
    wire.send(f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{fields}\r\n")


def ended(gate: Proxy) -> None:
    assert eventually(lambda: len(gate.boundary.completed) == 1)
    assert not gate.engine.gate.sessions.occupancy.requests


@pytest.mark.parametrize("name", BAD_CLIENT)
def test_a_client_that_breaks_the_protocol(stage: Stage, name: str) -> None:
    gate, origin = begin(stage)
    with gate.tunnel(f"{HOST}:443") as wire:
        ask(wire, "/echo")
        assert wire.reply().status == 101
        wire.send(BAD_CLIENT[name])
        begun = time.monotonic()
        wire.sock.settimeout(5)
        assert wire.closed(5)
        assert time.monotonic() - begun < 5
    ended(gate)
    assert BAD_CLIENT[name] not in origin.received
    assert b"/denied" not in origin.received


@pytest.mark.parametrize("name", BAD_SERVER)
def test_a_server_that_breaks_the_protocol(stage: Stage, name: str) -> None:
    gate, _ = begin(stage)
    with gate.tunnel(f"{HOST}:443") as wire:
        ask(wire, f"/say/{name}")
        assert wire.reply().status == 101
        wire.sock.settimeout(5)
        assert BAD_SERVER[name] not in wire.rest()
    ended(gate)


@pytest.mark.parametrize("name", GOOD)
def test_good_frames(stage: Stage, name: str) -> None:
    gate, _ = begin(stage)
    with gate.tunnel(f"{HOST}:443") as wire:
        ask(wire, "/echo")
        assert wire.reply().status == 101
        wire.send(GOOD[name])
        heard = b""
        while frame(b"hi", masked=False) not in heard:
            heard += wire.sock.recv(65536)
        wire.send(frame(b"\x03\xe8", masked=True, opcode=8))
        assert wire.closed()
    ended(gate)
    assert gate.boundary.completed[0][1].success


def test_a_message_right_behind_the_101(stage: Stage) -> None:
    gate, _ = begin(stage)
    with gate.tunnel(f"{HOST}:443") as wire:
        ask(wire, "/greet")
        assert wire.reply().status == 101
        assert wire.exactly(4) == frame(b"hi", masked=False)
    ended(gate)


@pytest.mark.parametrize("name", BAD_HANDSHAKES)
def test_a_request_that_is_no_handshake(stage: Stage, name: str) -> None:
    gate, origin = begin(stage)
    with gate.tunnel(f"{HOST}:443") as wire:
        ask(wire, "/echo", BAD_HANDSHAKES[name])
        answer = wire.reply()
        assert (answer.status, answer.json()["reason_code"]) == (400, "ENVELOPE_INVALID")
    assert origin.received == b""


@pytest.mark.parametrize("name", NO_HANDSHAKES)
def test_an_upgrade_that_is_no_handshake(stage: Stage, name: str) -> None:
    gate, origin = begin(stage)
    with gate.tunnel(f"{HOST}:443") as wire:
        wire.send(
            f"{NO_HANDSHAKES[name]}Host: {HOST}\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n\r\n"
        )
        answer = wire.reply(to_head=name == "HEAD")
        assert (answer.status, answer.headers["x-effectgate-reason"]) == (400, "ENVELOPE_INVALID")
    assert origin.received == b""


@pytest.mark.parametrize("value", CONNECTIONS)
def test_connection_may_name_upgrade_among_others(stage: Stage, value: str) -> None:
    gate, _ = begin(stage)
    with gate.tunnel(f"{HOST}:443") as wire:
        wire.send(
            f"GET /echo HTTP/1.1\r\nHost: {HOST}\r\nConnection: {value}\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n\r\n"
        )
        assert wire.reply().status == 101
    ended(gate)


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_that_is_no_answer_to_the_handshake(stage: Stage, name: str) -> None:
    gate, origin = begin(stage)
    with gate.tunnel(f"{HOST}:443") as wire:
        ask(wire, f"/switch/{name}")
        answer = wire.reply()
        assert (answer.status, answer.json()["failure"]) == (502, "upgrade")
        wire.send(frame(b"hello", masked=True))
        assert wire.closed()
    ended(gate)
    assert gate.boundary.completed[0][1].error == "upgrade"
    assert b"hello" not in origin.received
