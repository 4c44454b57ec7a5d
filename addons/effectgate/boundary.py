"""The boundary: decide, append, then answer. The proxy, the API and the CLI all come through here (design.md, "One thought").

This file fixes the interface that proxy, API and app are written against. The body follows with the receipts room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from effectgate.policy.facts import RequestFacts
from effectgate.policy.vocabulary import Decision, Reason


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a principal whose credential has been verified, and the connection it came over."""

    principal: str
    session_id: str = ""
    credential_tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """What little is known of a request that never became facts; every field may be empty. Kept in the receipt of its refusal."""

    method: str = ""
    scheme: str = ""
    host: str = ""
    port: int = 0
    path: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What to tell the caller, and what `complete` needs to close an ALLOW.

    `body` is the refusal of design.md section 4 (JSON-ready); empty on ALLOW. `status` is the HTTP status of a refusal, 200 on ALLOW.
    `headers` are the `X-Effectgate-*` pairs that go on every response, allowed or not.
    """

    verdict: Decision
    reason_code: Reason
    reason: str
    status: int
    effect: str | None
    decision_id: str
    receipt_id: str | None
    body: Mapping[str, object]
    headers: tuple[tuple[str, str], ...]

    @property
    def allowed(self) -> bool:
        """True only for a durable ALLOW."""
        return self.verdict is Decision.ALLOW


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an allowed request ended. Times in milliseconds, sizes in bytes; `status` 0 where no response arrived."""

    success: bool
    status: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    duration_ms: int = 0
    aborted: bool = False
    error: str = ""  # a kind such as `connect`, `tls`, `address`, `timeout`, `reset`; never text from the wire
    request_sha256: str = ""  # hex, of the body as streamed, where it was not held
    response_sha256: str = ""  # hex


class Boundary(Protocol):
    """What the proxy and the API see. No method raises: a fault inside is an Answer with PDP_ERROR."""

    def inspect_bytes(self, caller: Caller, facts: RequestFacts) -> int:
        """How many bytes of the body must be held before `submit` (0: none), as the candidate shapes ask."""

    async def submit(self, caller: Caller, facts: RequestFacts) -> Answer:
        """Decide, make the receipt durable, and only then return. An ALLOW has a receipt on disk."""

    async def refuse(
        self, caller: Caller, attempt: Attempt, code: Reason, reason: str, *, status: int | None = None
    ) -> Answer:
        """Record a refusal that was decided before policy: an ambiguous envelope, a port, a throttle. Receipted, then returned."""

    async def complete(self, answer: Answer, outcome: Outcome) -> None:
        """Close an ALLOW once with its completion receipt; later calls for the same answer do nothing."""

    def admitted(self, principal: str) -> bool:
        """Whether this principal still holds a credential and a grant: asked on every request and for open streams after a reload."""
