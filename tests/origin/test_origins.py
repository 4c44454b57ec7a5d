"""The origins themselves, asked directly: what they remember is what was sent."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import websockets.sync.client

from origin.certificates import Authority
from origin.githost import GitHost, git
from origin.journal import Reply, Seen
from origin.plays import echo
from origin.registries import NpmRegistry, PackageIndex
from origin.server import Origins, opened


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def origins(authority: Authority) -> Iterator[Origins]:
    with opened(authority) as running:
        yield running


def _trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.pem))


def test_a_leaf_is_minted_for_the_name_that_is_asked_for(authority: Authority, origins: Origins) -> None:
    origin = origins.open(echo)
    with (
        socket.create_connection(("127.0.0.1", origin.port), 5) as plain,
        _trusting(authority).wrap_socket(plain, server_hostname="api.github.com") as secure,
    ):
        secure.sendall(b"GET /a%2Fb//c HTTP/1.1\r\nHost: api.github.com\r\nX-Odd:  v \r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: secure.recv(4096), b""))
    (seen,) = origin.journal.requests("api.github.com")
    assert answer.startswith(b"HTTP/1.1 200")
    assert seen.raw.startswith(b"GET /a%2Fb//c HTTP/1.1\r\nHost: api.github.com\r\nX-Odd:  v \r\n")
    assert (origin.journal.accepts, origin.journal.received) == (1, len(seen.raw))


def test_pipelined_requests_are_kept_apart(origins: Origins) -> None:
    origin = origins.open(echo, tls=False)
    first = b"POST /1 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc"
    second = b"GET /2 HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", origin.port), 5) as plain:
        plain.sendall(first + second)
        b"".join(iter(lambda: plain.recv(4096), b""))
    assert [seen.raw for seen in origin.journal.requests()] == [first, second]


def test_bytes_that_are_no_request_are_remembered_too(origins: Origins) -> None:
    origin = origins.open(echo, tls=False)
    with socket.create_connection(("127.0.0.1", origin.port), 5) as plain:
        plain.sendall(b"\x00\x01 nonsense\r\n\r\n")
        assert plain.recv(4096) == b""
    assert origin.journal.requests()[0].raw == b"\x00\x01 nonsense\r\n\r\n"


def test_a_websocket_is_echoed(origins: Origins) -> None:
    origin = origins.open(echo, tls=False)
    with websockets.sync.client.connect(f"ws://127.0.0.1:{origin.port}/chat", proxy=None) as socket_:
        socket_.send("hello")
        assert socket_.recv(timeout=5) == "hello"
    assert origin.journal.requests()[0].frames == [b"hello"]


def test_the_index_and_the_registry_know_their_packages() -> None:
    index, registry = PackageIndex("small_wheel", "1.0"), NpmRegistry("@acme/tool", "plain")
    assert b"files.pythonhosted.org" in index.index(_asked("/simple/small-wheel/")).body
    assert registry(_asked("/@acme%2ftool")).status == registry(_asked("/@acme/tool/-/tool-1.0.0.tgz")).status == 200
    assert registry(_asked("/@acme/tool")).status == index.files(_asked("/x")).status == 404


def test_git_clones_from_the_host(origins: Origins, tmp_path: Path) -> None:
    host = GitHost(tmp_path / "host")
    host.create("acme/web.git")
    origin = origins.open(host, tls=False)
    run = git(tmp_path, "clone", f"http://127.0.0.1:{origin.port}/acme/web.git", "copy")
    assert (tmp_path / "copy" / "README").read_text() == "hello\n", run.stderr


def test_http2_is_spoken_and_large_answers_wait_for_window(authority: Authority, origins: Origins) -> None:
    origin = origins.open(lambda seen: Reply(body=b"x" * 300_000), alpn=("h2",))
    with httpx.Client(http2=True, verify=_trusting(authority), trust_env=False) as client:
        reply = client.get(
            f"https://127.0.0.1:{origin.port}/big",
            headers={"Host": "api.github.com"},
            extensions={"sni_hostname": "api.github.com"},
        )
    assert (reply.http_version, len(reply.content)) == ("HTTP/2", 300_000)
    assert [(seen.protocol, seen.host) for seen in origin.journal.requests()] == [("h2", "api.github.com")]


def _asked(target: str) -> Seen:
    return Seen("http/1.1", "GET", target.encode(), "", [])
