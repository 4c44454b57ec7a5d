"""What the proxy reports to whoever counts. Kinds come from closed lists in our code, never from a request."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Receives figures; must not raise or block."""

    def connections(self, count: int) -> None:
        """How many client connections are open."""

    def unreceipted(self, kind: str) -> None:
        """A refusal without a receipt: `credential`, `malformed`, `not-proxied`, `stopping` or `connections`."""

    def closed(self, kind: str) -> None:
        """A connection that we ended: `stranger`, `crowd`, `idle`, `quiet` or `reader` (docs/operations.md, Limits)."""

    def upstream_error(self, kind: str) -> None:
        """An allowed request got nowhere; `kind` is a key of failure.SENTENCES."""

    def upstream_bytes(self, sent: int, received: int) -> None:
        """Body bytes of one allowed request, to and from its origin."""

    def decided(self, seconds: float) -> None:
        """How long the proxy took over one request, from its head to its decision."""


class Silent:
    """An Observer that counts nothing."""

    def connections(self, count: int) -> None:
        """See Observer."""

    def unreceipted(self, kind: str) -> None:
        """See Observer."""

    def closed(self, kind: str) -> None:
        """See Observer."""

    def upstream_error(self, kind: str) -> None:
        """See Observer."""

    def upstream_bytes(self, sent: int, received: int) -> None:
        """See Observer."""

    def decided(self, seconds: float) -> None:
        """See Observer."""
