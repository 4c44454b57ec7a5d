"""The host's own table of names, such as `/etc/hosts` (RFC 952, RFC 1123; hosts(5))."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

Table = dict[str, tuple[str, ...]]
_Stamp = tuple[int, int, int]


class HostsFile:
    """Read again when the file changes. A file that cannot be read holds nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: _Stamp | None = None
        self._table: Table = {}

    def addresses(self, host: str) -> tuple[str, ...]:
        """Every address of a name in normal form, in the order of the file; empty where it is not listed."""
        try:
            found = self._path.stat()
            stamp = found.st_mtime_ns, found.st_size, found.st_ino
            if stamp != self._stamp:
                self._table = parse_hosts(self._path.read_text(encoding="utf-8", errors="replace"))
                self._stamp = stamp
        except OSError:
            self._stamp, self._table = None, {}
        return self._table.get(host, ())


def parse_hosts(text: str) -> Table:
    """Addresses by lower-case name without a trailing dot; lines that do not begin with an address are passed over."""
    table: dict[str, list[str]] = {}
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        if names and _is_address(address):
            for name in names:
                table.setdefault(name.lower().removesuffix("."), []).append(address)
    return {name: tuple(dict.fromkeys(addresses)) for name, addresses in table.items()}


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
