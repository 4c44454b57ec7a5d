"""Sites: services that everyone hosts for himself, `@name` in packs, with addresses in `sites:` (design.md 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from effectgate.policy.authority import Authority, EnvelopeError, parse_authority
from effectgate.policy.fault import PatternError

HTTPS = 443


class Sites:
    """The addresses of each site. A site that nobody set has none, and what is written for it matches nothing."""

    def __init__(self, addresses: Mapping[str, Sequence[Authority]] | None = None) -> None:
        self._addresses = {name: tuple(rows) for name, rows in (addresses or {}).items()}

    @classmethod
    def parse(cls, written: Mapping[str, Iterable[str]]) -> Sites:
        """From `sites:` of the settings: name -> `host:port`, or `host` for port 443. Raises PatternError."""
        return cls({name: [_authority(name, text) for text in rows] for name, rows in written.items()})

    def hosts(self, host: str) -> Mapping[str, frozenset[int]]:
        """Host -> ports of `@name`."""
        out: dict[str, frozenset[int]] = {}
        for address in self._addresses.get(host.removeprefix("@"), ()):
            out[address.host] = out.get(address.host, frozenset()) | {address.port}
        return out

    def facts(self) -> dict[str, list[str]]:
        """The addresses, for a cache key."""
        return {name: sorted(f"{a.host} {a.port}" for a in rows) for name, rows in sorted(self._addresses.items())}


def _authority(name: str, text: str) -> Authority:
    try:
        return parse_authority(text, HTTPS)
    except EnvelopeError as error:
        message = f"the site {name} has no valid address: {error}"
        raise PatternError(message, 'write HOST:PORT, such as "k8s.example.internal:6443"') from error
