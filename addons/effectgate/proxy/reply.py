"""From answers to responses: JSON for programs, the same facts as text for git, which prints text/plain only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from mitmproxy import http

from effectgate.boundary import Answer
from effectgate.policy.vocabulary import STATUS, Decision, Reason
from effectgate.proxy.failure import Failure

REALM = 'Basic realm="effectgate"'
Fields = Iterable[tuple[str, str]]


def refusal(answer: Answer, user_agent: str) -> http.Response:
    """The response for an answer that is not ALLOW."""
    return spoken(answer.status, answer.body, (*answer.headers, *retry_after(answer.status)), user_agent)


def retry_after(status: int) -> tuple[tuple[str, str], ...]:
    """When to come again, in seconds (RFC 9110 section 10.2.3): what is too much at once is soon over."""
    return (("Retry-After", "1"),) if status == 429 else ()


# Failures of an allowed request that are refusals of ours after all.
_REFUSED = {
    "address": Reason.SANDBOX_VIOLATION,
    "gate": Reason.PDP_ERROR,
    "budget": Reason.BUDGET_EXCEEDED,
    "length": Reason.ENVELOPE_INVALID,
    "sender": Reason.TEMPORAL_THROTTLE,
}
# Where the status of the reason says less than another would.
_STATUS = {"sender": 408}


def failed(answer: Answer, failure: Failure, user_agent: str) -> http.Response:
    """The response where an allowed request got nowhere: the refusal's own status where we stopped it, else 502 (design.md section 4)."""
    refused = failure.kind in _REFUSED
    verdict, code = (Decision.DENY, _REFUSED[failure.kind]) if refused else (Decision.ALLOW, Reason.NONE)
    body = {
        "verdict": str(verdict),
        "reason_code": str(code),
        "reason": f"This request was allowed, but {failure.sentence}.",
        "failure": failure.kind,
        "next_step": failure.next_step,
        "effect": answer.effect,
        "receipt_id": answer.receipt_id,
    }
    status = _STATUS.get(failure.kind, STATUS[code]) if refused else 502
    return spoken(status, body, _said(answer.headers, verdict, code), user_agent)


def fault(reason: str, user_agent: str = "") -> http.Response:
    """503 where deciding itself failed and no answer of the boundary can be had."""
    return plain_refusal(503, Reason.PDP_ERROR, reason, user_agent)


def plain_refusal(status: int, code: Reason, reason: str, user_agent: str = "", headers: Fields = ()) -> http.Response:
    """A refusal that leaves no receipt: nobody is known, or nothing could be written."""
    body = {"verdict": str(Decision.DENY), "reason_code": str(code), "reason": reason, "receipt_id": None}
    return spoken(status, body, (*_said((), Decision.DENY, code), *retry_after(status), *headers), user_agent)


def login(reason: str, user_agent: str) -> http.Response:
    """407, which clients answer with the credential of their proxy URL."""
    body = {"verdict": str(Decision.DENY), "reason_code": "", "reason": reason, "receipt_id": None}
    return spoken(407, body, (("Proxy-Authenticate", REALM),), user_agent)


def spoken(status: int, body: Mapping[str, object], headers: Fields, user_agent: str) -> http.Response:
    """A response with this body as JSON, or as text for git."""
    if user_agent.startswith("git/"):
        return response(status, "text/plain; charset=utf-8", as_text(body).encode(), headers)
    return response(status, "application/json", json.dumps(body, ensure_ascii=False).encode() + b"\n", headers)


def response(status: int, content_type: str, content: bytes, headers: Fields) -> http.Response:
    """A complete response that no cache keeps."""
    fields = [
        ("Content-Type", content_type),
        ("Content-Length", str(len(content))),
        ("Cache-Control", "no-store"),
        *headers,
    ]
    return http.Response.make(
        status, content, http.Headers([(name.encode(), value.encode()) for name, value in fields])
    )


def as_text(body: Mapping[str, object]) -> str:
    """The facts of a refusal in lines for a terminal."""
    said = (
        "allowed, not delivered"
        if body.get("verdict") == "ALLOW"
        else f"{body.get('verdict')} {body.get('reason_code')}"
    )
    lines = [f"effectgate: {said}".rstrip(), str(body.get("reason", ""))]
    proposals = body.get("would_admit")
    if isinstance(proposals, Sequence) and not isinstance(proposals, str):
        lines += [f"would be admitted by: {_proposal(entry)}" for entry in proposals if isinstance(entry, Mapping)]
    lines += [f"{name.replace('_', ' ')}: {body[name]}" for name in ("next_step", "receipt_id") if body.get(name)]
    return "\n".join(lines) + "\n"


def _proposal(entry: Mapping[str, object]) -> str:
    also = entry.get("also")
    more = "".join(f" with {name}" for name in also) if isinstance(also, Sequence) and not isinstance(also, str) else ""
    return f"{entry.get('effect')} ({entry.get('title')}, {entry.get('risk')}){more}"


def _said(headers: Fields, verdict: Decision, code: Reason) -> tuple[tuple[str, str], ...]:
    # The answer's own headers, with verdict and reason replaced by what became of it.
    changed = {"x-effectgate-verdict": str(verdict), "x-effectgate-reason": str(code)}
    kept = tuple((name, value) for name, value in headers if name.lower() not in changed)
    return (("X-Effectgate-Verdict", str(verdict)), *((("X-Effectgate-Reason", str(code)),) if code else ()), *kept)
