"""The kinds of value that a setting can have, each check with the fix it tells (design.md section 6)."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

# The error type of the checks here; their context carries `message` and `fix`.
KIND = "setting"


class Address(NamedTuple):
    """A host name or IP literal (no brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def wrong(message: str, fix: str) -> PydanticCustomError:
    """The error that a check raises."""
    return PydanticCustomError(KIND, "{message}", {"message": message, "fix": fix})


def parse_address(text: str) -> Address:
    """`host:port`, an IPv6 host in brackets. Raises PydanticCustomError."""
    host, colon, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    bracketed = host != bare
    if not colon or not bare or (":" in bare) != bracketed or not port.isascii() or not port.isdigit():
        raise wrong(f"{text!r} is not HOST:PORT", 'write it as "127.0.0.1:8080" or "[::1]:8080"')
    if int(port) > 65535:
        raise wrong(f"port {port} is above 65535", "choose a port from 1 to 65535")
    return Address(bare, int(port))


def _host_port(text: str) -> str:
    return str(parse_address(text))


def _listen_address(text: str) -> str:
    host = parse_address(text).host
    try:
        ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise wrong(f"{host!r} is not an address to listen on", 'write an IP address, such as "127.0.0.1"') from None
    return text


def _static_answer(text: str) -> str:
    try:
        ip_address(parse_address(text).host)
    except ValueError:
        raise wrong(f"{text!r} does not start with an IP address", 'write IP:PORT, such as "127.0.0.1:9443"') from None
    return text


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError as error:
        fix = 'write a network such as "10.1.0.0/16", with no bits set after the prefix'
        raise wrong(f"{text!r} is not a CIDR ({error})", fix) from None


def _store(text: str) -> str:
    if text.startswith(("postgresql://", "postgres://")):
        raise wrong("the PostgreSQL store is not in this version", 'write "sqlite" for now')
    if text != "sqlite":
        raise wrong(f"{text!r} is not a store", 'write "sqlite"')
    return text


def _existing_file(text: str, info: ValidationInfo) -> str:
    """Checked here, not at use, so that it is reported with every other fault; the context is the base directory."""
    file = Path(info.context or ".") / text
    if not file.is_file():
        raise wrong(f"no file at {file}", "name a PEM file; a relative path starts from this file")
    return text


def _one_worker(count: int) -> int:
    if count != 1:
        raise wrong("more than one worker is not in this version", "write 1 for now, or leave it out")
    return count


Listen = Annotated[str, AfterValidator(_listen_address)]
HostPort = Annotated[str, AfterValidator(_host_port)]
StaticAnswer = Annotated[str, AfterValidator(_static_answer)]
Network = Annotated[str, AfterValidator(_network)]
Store = Annotated[str, AfterValidator(_store)]
ExistingFile = Annotated[str, AfterValidator(_existing_file)]
Workers = Annotated[int, AfterValidator(_one_worker)]
Port = Annotated[int, Field(ge=1, le=65535)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$")]
EffectId = Annotated[str, Field(pattern=r"^[a-z0-9-]+/[a-z0-9-]+$")]
