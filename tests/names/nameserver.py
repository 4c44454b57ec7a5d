"""A nameserver on UDP and TCP that answers from a table and counts what it is asked.

    with Nameserver() as dns:
        dns.zone["api.test"] = addresses("93.184.216.34")
        ...
        assert dns.count("refused.test") == 0

Anything that is not in `zone` does not exist (NXDOMAIN). How `serve` is made to ask it: see `names.gate`.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from names.message import NXDOMAIN, SERVFAIL, TRUNCATED, Question, Record, encode_name, read_question, respond

UDP_BYTES = 512  # RFC 1035 section 4.2.1; longer answers are cut unless the play says otherwise


class Play(Protocol):
    """How one name answers: the messages to send, in order, for a question that came over UDP or TCP."""

    def __call__(self, question: Question, *, tcp: bool) -> Sequence[bytes]:
        """None at all is silence."""


def records(*found: Record) -> Play:
    """These records to whoever asks for their kind; CNAMEs and what they lead to always."""

    def play(question: Question, *, tcp: bool) -> Sequence[bytes]:
        answer = respond(question, [one for one in found if one.kind in ("CNAME", question.kind)])
        return [answer if tcp or len(answer) <= UDP_BYTES else respond(question, flags=TRUNCATED)]

    return play


def addresses(*found: str, ttl: int = 60) -> Play:
    """These addresses, IPv4 and IPv6."""
    return records(*(Record(address, ttl) for address in found))


def alias(*chain: str, to: Sequence[str]) -> Play:
    """A CNAME to each name of the chain in turn, whose last has the addresses `to`."""
    owners = ["", *chain]
    links = [Record(target, owner=owner) for owner, target in zip(owners, chain, strict=False)]
    return records(*links, *(Record(address, owner=chain[-1]) for address in to))


def in_turn(*plays: Play) -> Play:
    """A play for each lookup in turn, then the last for good. A and AAAA of one lookup get the same."""
    asked = {"A": 0, "AAAA": 0}

    def play(question: Question, *, tcp: bool) -> Sequence[bytes]:
        at = asked[question.kind]
        asked[question.kind] += 1
        return plays[min(at, len(plays) - 1)](question, tcp=tcp)

    return play


def by_kind(a: Play, aaaa: Play) -> Play:
    """One play for A, another for AAAA."""

    def play(question: Question, *, tcp: bool) -> Sequence[bytes]:
        return (a if question.kind == "A" else aaaa)(question, tcp=tcp)

    return play


def failing(code: int = SERVFAIL) -> Play:
    """An error."""
    return lambda question, *, tcp: [respond(question, code=code)]


def silent(question: Question, *, tcp: bool) -> Sequence[bytes]:
    """No answer, ever."""
    return ()


def slow(seconds: float, play: Play) -> Play:
    """The play, later."""

    def later(question: Question, *, tcp: bool) -> Sequence[bytes]:
        time.sleep(seconds)
        return play(question, tcp=tcp)

    return later


def forged(play: Play, lie: Play, *, id_too: bool = True) -> Play:
    """Before the true answer one with another id (`id_too`), or with the right id to another question."""

    def both(question: Question, *, tcp: bool) -> Sequence[bytes]:
        other = b"".join((encode_name("elsewhere.test"), question.raw[-4:]))
        claimed = replace(question, id=question.id ^ 1) if id_too else replace(question, raw=other)
        return [*lie(claimed, tcp=tcp), *play(question, tcp=tcp)]

    return both


def raw(message: Callable[[Question], bytes]) -> Play:
    """Whatever bytes the test makes of the question."""
    return lambda question, *, tcp: [message(question)]


THREAD = "nameserver"  # of every thread here: what a test counts is the product's


class Nameserver:
    """Listens on both transports of one port of `host`; each question is answered in a thread of its own."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.zone: dict[str, Play] = {}
        self.asked: list[Question] = []
        self.tcp_asked: list[Question] = []
        self._stream, self._datagram = _pair(host, port)
        self.address: tuple[str, int] = self._stream.getsockname()
        for target in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=target, daemon=True, name=THREAD).start()

    def __enter__(self) -> Nameserver:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def count(self, name: str | None = None, kind: str | None = None) -> int:
        """How many questions came for a name (or any), of a kind (or any); a retry over TCP counts again."""
        return sum(name in (None, one.name) and kind in (None, one.kind) for one in tuple(self.asked))

    def names(self) -> list[str]:
        """Every name that was asked for, once, in order."""
        return list(dict.fromkeys(question.name for question in tuple(self.asked)))

    def close(self) -> None:
        """Stop listening. What still waits for a slow answer ends by itself."""
        for listening in (self._stream, self._datagram):
            with contextlib.suppress(OSError):  # UDP is never connected, and wakes its reader all the same
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()

    def _answers(self, message: bytes, *, tcp: bool) -> Sequence[bytes]:
        question = read_question(message)
        self.asked.append(question)
        if tcp:
            self.tcp_asked.append(question)
        return self.zone.get(question.name, failing(NXDOMAIN))(question, tcp=tcp)

    def _serve_udp(self) -> None:
        while True:
            try:
                message, peer = self._datagram.recvfrom(65535)
            except OSError:
                return
            if not message:  # what a socket that is shut down returns
                return
            threading.Thread(target=self._reply_udp, args=(message, peer), daemon=True, name=THREAD).start()

    def _reply_udp(self, message: bytes, peer: tuple[str, int]) -> None:
        for answer in self._answers(message, tcp=False):
            try:
                self._datagram.sendto(answer, peer)
            except OSError:
                return

    def _serve_tcp(self) -> None:
        while True:
            try:
                connection, _ = self._stream.accept()
            except OSError:
                return
            threading.Thread(target=self._reply_tcp, args=(connection,), daemon=True, name=THREAD).start()

    def _reply_tcp(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reading:
            while len(length := reading.read(2)) == 2:
                for answer in self._answers(reading.read(int.from_bytes(length)), tcp=True):
                    connection.sendall(struct.pack("!H", len(answer)) + answer)


def _pair(host: str, port: int) -> tuple[socket.socket, socket.socket]:
    """Both transports on one port. A port that is free for TCP may be taken for UDP: then another."""
    for _ in range(20):
        stream = socket.create_server((host, port))
        datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            datagram.bind((host, stream.getsockname()[1]))
            return stream, datagram
        except OSError:
            stream.close()
            datagram.close()
    raise OSError(f"no port of {host} is free for both transports")
