"""From a flow to request facts, or to the sentence that says why it has none."""

from __future__ import annotations

from mitmproxy import http

from effectgate.boundary import Attempt
from effectgate.policy.authority import Authority, parse_authority
from effectgate.policy.facts import NO_BODY, UNREAD, EnvelopeError, RequestFacts, read_facts
from effectgate.proxy.flow import AgentFlow
from effectgate.proxy.session import Session
from effectgate.proxy.settings import Endpoint
from effectgate.proxy.transfer import strip_request
from effectgate.proxy.websocket import handshake_fault

_SCHEMES = {b"http": 80, b"https": 443}


def read_request(flow: AgentFlow, session: Session) -> RequestFacts:
    """The facts of a request head, whose flow is made to forward exactly them. Raises EnvelopeError."""
    if flow.error is not None:
        raise EnvelopeError(_why_invalid(flow))
    if session.fault:
        raise EnvelopeError(session.fault)
    where = _in_tunnel(flow, session.tunnel) if flow.received.in_tunnel else _absolute(flow)
    data = flow.request.data
    strip_request(flow.request)
    authority = data.authority if flow.received.http2 and data.authority else None
    facts = read_facts(
        method=data.method, scheme=data.scheme.decode("latin-1"), host=where.host, port=where.port, target=data.path,
        fields=flow.request.headers.fields, body=NO_BODY if flow.received.end_stream else UNREAD, authority=authority,
    )  # fmt: skip
    if flow.received.end_stream and facts.header("content-length") not in ((), ("0",)):
        raise EnvelopeError("The request ends with its head and says with Content-Length that a body follows.")
    if facts.websocket and (flow.received.http2 or facts.body.present):
        raise EnvelopeError("A websocket handshake is an HTTP/1.1 GET without a body.")
    if facts.websocket and (fault := handshake_fault(flow.request)):
        raise EnvelopeError(fault)
    data.host, data.port = where.host, where.port
    if not flow.received.http2:
        data.authority = b""
    return facts


def attempt_of(request: http.Request) -> Attempt:
    """What can be said of a request that has no facts."""
    data = request.data
    # Never the query: it may hold secrets, and a refusal shows the path.
    method, scheme, path = (_shown(part) for part in (data.method, data.scheme, data.path.partition(b"?")[0]))
    return Attempt(method[:32], scheme, data.host[:255], data.port, path)


def _in_tunnel(flow: AgentFlow, tunnel: Endpoint | None) -> Authority:
    if tunnel is None:
        raise EnvelopeError("The request is in no tunnel.")
    where = Authority(*tunnel)
    received, default = flow.received, _SCHEMES[flow.request.data.scheme]
    if received.authority and parse_authority(received.authority.decode("latin-1"), default) != where:
        raise EnvelopeError(f"The request names another authority than CONNECT, which named {where.host}:{where.port}.")
    # HTTP/1 says a scheme only in absolute-form; HTTP/2 always does, and an empty one is none of its own.
    if (received.http2 or received.scheme) and received.scheme != flow.request.data.scheme:
        raise EnvelopeError("The request names another scheme than its connection speaks.")
    return where


def _absolute(flow: AgentFlow) -> Authority:
    default = _SCHEMES.get(flow.received.scheme)
    if default is None:
        raise EnvelopeError("The scheme is neither http nor https.")
    return parse_authority(flow.received.authority.decode("latin-1"), default)


def _why_invalid(flow: AgentFlow) -> str:
    if flow.request.method == "CONNECT":
        return "There is no CONNECT inside a tunnel."
    if flow.received.scheme not in (b"", *_SCHEMES):
        return "The scheme is neither http nor https."
    return "The request's framing headers are invalid or contradict each other."


def _shown(raw: bytes) -> str:
    return raw.decode("ascii", "backslashreplace")
