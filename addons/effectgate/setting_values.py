"""The kinds of value that a setting can have, each check with the fix it tells (design.md section 6)."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from effectgate.policy.authority import EnvelopeError, parse_authority
from effectgate.policy.fault import PatternError


class Address(NamedTuple):
    """A host name or IP literal (no brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`host:port`, an IPv6 host in brackets. Raises PatternError."""
    host, colon, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    bracketed = host != bare
    if not colon or not bare or (":" in bare) != bracketed or not port.isascii() or not port.isdigit():
        raise PatternError(f"{text!r} is not HOST:PORT", 'write it as "127.0.0.1:8080" or "[::1]:8080"')
    if int(port) > 65535:
        raise PatternError(f"port {port} is above 65535", "choose a port from 1 to 65535")
    return Address(bare, int(port))


def _host_port(text: str) -> str:
    """An endpoint as requests name it (design.md section 3), so that it is found whatever its letters and last dot."""
    parse_address(text)
    try:
        found = parse_authority(text, None)
    except EnvelopeError as error:
        raise PatternError(f"{text!r} is no endpoint: {error}", 'write it as "api.example.com:443"') from None
    return str(Address(found.host, found.port))


def _site_address(text: str) -> str:
    """Port 443 where none is written."""
    return _host_port(text if re.search(r":[0-9]+$", text) else f"{text}:443")


def _listen_address(text: str) -> str:
    host = parse_address(text).host
    try:
        ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise PatternError(
            f"{host!r} is not an address to listen on", 'write an IP address, such as "127.0.0.1"'
        ) from None
    return text


def _static_answer(text: str) -> str:
    host, port = parse_address(text)
    try:
        address = ip_address("" if "%" in host else host)
    except ValueError:
        raise PatternError(
            f"{text!r} does not start with an IP address", 'write IP:PORT, such as "127.0.0.1:9443"'
        ) from None
    if not port:
        raise PatternError(f"{text!r} has no port that can be dialled", "choose a port from 1 to 65535")
    return str(Address(str(address), port))


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError as error:
        fix = 'write a network such as "10.1.0.0/16", with no bits set after the prefix'
        raise PatternError(f"{text!r} is not a CIDR ({error})", fix) from None


def _port(port: int) -> int:
    if not 1 <= port <= 65535:
        raise PatternError(f"{port} is not a port", "write a port from 1 to 65535")
    return port


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]([a-z0-9_-]*[a-z0-9])?", text):
        raise PatternError(f"{text!r} is not a name", "use lower-case letters, digits and inner hyphens")
    return text


def _effect_id(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", text):
        raise PatternError(f"{text!r} is not an effect id", "write PACK/EFFECT, as `effectgate packs list` prints it")
    return text


def _path_text(text: str) -> str:
    if not text or not text.isprintable():
        raise PatternError(f"{text!r} is not a path", "write a path of printable characters, such as var")
    try:
        Path(text).expanduser()
    except RuntimeError:
        raise PatternError(f"{text!r} names a home directory that is not there", "write the path out") from None
    return text


def _store(text: str) -> str:
    if text.startswith(("postgresql://", "postgres://")):
        raise PatternError("the PostgreSQL store is not in this version", 'write "sqlite" for now')
    if text != "sqlite":
        raise PatternError(f"{text!r} is not a store", 'write "sqlite"')
    return text


def _one_worker(count: int) -> int:
    if count != 1:
        raise PatternError(f"{count} workers are not in this version", "write 1 for now, or leave it out")
    return count


def _at_least_one(count: int) -> int:
    if count < 1:
        raise PatternError(f"{count} would refuse everything", "write at least 1, or leave it out")
    return count


def _seconds(seconds: float) -> float:
    if not 0 < seconds <= 86400:
        raise PatternError(f"{seconds:g} s is not a time to wait", "write more than 0 and at most 86400 seconds")
    return seconds


Listen = Annotated[str, AfterValidator(_listen_address)]
HostPort = Annotated[str, AfterValidator(_host_port)]
SiteAddress = Annotated[str, AfterValidator(_site_address)]
StaticAnswer = Annotated[str, AfterValidator(_static_answer)]
Network = Annotated[str, AfterValidator(_network)]
PathText = Annotated[str, AfterValidator(_path_text)]
Store = Annotated[str, AfterValidator(_store)]
Workers = Annotated[int, AfterValidator(_one_worker)]
Port = Annotated[int, AfterValidator(_port)]
Name = Annotated[str, AfterValidator(_name)]
EffectId = Annotated[str, AfterValidator(_effect_id)]
Count = Annotated[int, AfterValidator(_at_least_one)]
Seconds = Annotated[float, AfterValidator(_seconds)]
