"""What goes through the boundary: who asks, what is answered, how it ended. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from effectgate.policy.refusal import Target, answer_headers, refusal_body
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import STATUS, Decision, Reason


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a principal whose credential has been verified, and the connection it came over. A stranger's principal is empty."""

    principal: str
    session_id: str = ""


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
    upload_left: int | None = None  # how many bytes of body may leave under this ALLOW; None without a limit

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
    address: str = ""  # the IP address that was dialled, or refused where `error` is `address`
    exempt: str = ""  # the setting without which it would not have been: network.resolve, network.allow_private, sites
    asked_again: bool = False  # the origin closed a kept connection, and the request was sent once more

    def facts(self) -> dict[str, object]:
        """The `output` of the completion receipt; `asked_again` only where it is true."""
        again = {"asked_again": True} if self.asked_again else {}
        return again | {
            "success": self.success,
            "status": self.status,
            "bytes_sent": self.bytes_sent,
            "bytes_received": self.bytes_received,
            "duration_ms": self.duration_ms,
            "aborted": self.aborted,
            "error": self.error,
            "request_sha256": self.request_sha256,
            "response_sha256": self.response_sha256,
            "address": self.address,
            "exempt": self.exempt,
        }


# Where the commit of an ALLOW succeeds after its caller has been refused or has gone: nothing was sent.
UNSENT = Outcome(success=False, aborted=True, error="unsent")


def answer_of(
    verdict: Verdict,
    target: Target,
    caller: Caller,
    *,
    decision_id: str = "",
    receipt_id: str | None = None,
    status: int | None = None,
    upload_left: int | None = None,
) -> Answer:
    """The answer that tells this verdict; `status` overrides that of its reason (431 for a header too large)."""
    return Answer(
        verdict.verdict,
        verdict.reason_code,
        verdict.reason,
        200 if verdict.allowed else status or STATUS[verdict.reason_code],
        verdict.effect,
        decision_id,
        receipt_id,
        {} if verdict.allowed else refusal_body(verdict, target, caller.principal, receipt_id),
        answer_headers(verdict, receipt_id),
        upload_left,
    )
