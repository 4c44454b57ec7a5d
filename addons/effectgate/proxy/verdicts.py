"""Where requests are decided: before the body is read, or as soon as the body that the decision needs is here."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from mitmproxy import http

from effectgate.boundary import Boundary, Caller
from effectgate.policy.facts import EnvelopeError, RequestFacts
from effectgate.policy.vocabulary import Reason
from effectgate.proxy import reply
from effectgate.proxy.completion import Completion
from effectgate.proxy.doorway import Doorway, credential_of
from effectgate.proxy.envelope import attempt_of, read_request
from effectgate.proxy.flow import Admitted, AgentFlow, Holding, Refused, Stance
from effectgate.proxy.malformed import HEADER_BYTES
from effectgate.proxy.session import Session, Sessions
from effectgate.proxy.settings import ProxySettings
from effectgate.proxy.ticket import Destination, Ticket
from effectgate.proxy.transfer import header_bytes

# The host that the proxy answers for itself (design.md section 4).
INTERNAL = "effectgate.internal"
LOCAL_BODY_BYTES = 64 * 1024

LocalAnswer = tuple[int, list[tuple[str, str]], bytes]
Local = Callable[[str, str, str, bytes], Awaitable[LocalAnswer]]

NOT_PROXIED = "This is a proxy. Set HTTPS_PROXY and HTTP_PROXY to its URL; it takes CONNECT and absolute-form requests."


class Verdicts:
    """The hooks requestheaders, request and effectgate_decide."""

    name = "effectgate-verdicts"

    def __init__(
        self, sessions: Sessions, boundary: Boundary, doorway: Doorway, completion: Completion, local: Local,
        settings: ProxySettings,
    ) -> None:  # fmt: skip
        self._sessions = sessions
        self._boundary = boundary
        self._doorway = doorway
        self._completion = completion
        self._local = local
        self._settings = settings

    async def requestheaders(self, flow: AgentFlow) -> None:
        """Take a stance on a request before any of its body is read."""
        started = time.monotonic()
        received = flow.received
        if not (received.in_tunnel or received.authority):
            flow.stance = Refused(self._to_us(flow))
            return
        if self._sessions.closed:
            flow.stance = Refused(reply.fault(f"The gate is closed: {self._sessions.closed}.", flow.user_agent))
            return
        session = self._sessions.of(flow.client_conn)
        caller = await self._caller(flow, session)
        flow.stance = (
            Refused(self._doorway.turn_away(flow.request))
            if caller is None
            else await self._judge(flow, session, caller)
        )
        self._completion.observer.decided(time.monotonic() - started)

    def request(self, flow: AgentFlow) -> None:
        """Structural default deny: mitmproxy goes upstream next, and may do so only with leave."""
        if not flow.may_leave and flow.stop is None:
            flow.stop = reply.fault("No decision admits this request; nothing was sent.", flow.user_agent)

    async def effectgate_decide(self, flow: AgentFlow) -> None:
        """Decide a request whose body was held, whole or (content None) too large to hold."""
        stance = flow.stance
        assert isinstance(stance, Holding)
        content = flow.request.data.content
        if stance.facts is None:
            flow.stance = Refused(await self._answer_locally(flow, stance.caller, content))
            return
        try:
            facts = stance.facts.with_body(content, stance.limit)
        except EnvelopeError as error:
            flow.stance = await self._refuse(flow, stance.caller, Reason.ENVELOPE_INVALID, str(error))
            return
        flow.stance = await self._submit(flow, stance.caller, facts)

    async def _caller(self, flow: AgentFlow, session: Session) -> Caller | None:
        if flow.received.in_tunnel:
            return self._sessions.identify(flow.client_conn, session.credential)
        return await self._doorway.caller(flow.client_conn, flow.request)

    async def _judge(self, flow: AgentFlow, session: Session, caller: Caller) -> Stance:
        # The one that named the caller: a CONNECT refused earlier on this connection leaves its own behind.
        flow.credential = session.credential if flow.received.in_tunnel else credential_of(flow.request)
        if header_bytes(flow.request) > HEADER_BYTES:
            return await self._refuse(flow, caller, Reason.TEMPORAL_THROTTLE, "The request head is too large.", 431)
        if self._sessions.in_flight[caller.principal] >= self._settings.requests_in_flight:
            return await self._refuse(flow, caller, Reason.TEMPORAL_THROTTLE, "Too many requests are in flight.", 429)
        try:
            facts = read_request(flow, session)
        except EnvelopeError as error:
            return await self._refuse(flow, caller, Reason.ENVELOPE_INVALID, str(error))
        if facts.host == INTERNAL:
            return Holding(caller, None, LOCAL_BODY_BYTES)
        if facts.body.present and (limit := self._boundary.inspect_bytes(caller, facts)) and _fits(flow.request, limit):
            return Holding(caller, facts, limit)
        return await self._submit(flow, caller, facts)

    async def _submit(self, flow: AgentFlow, caller: Caller, facts: RequestFacts) -> Stance:
        answer = await self._boundary.submit(caller, facts)
        if not answer.allowed:
            return Refused(reply.refusal(answer, flow.user_agent))
        ticket = Ticket(caller, flow.credential, answer, Destination.of(flow.request), facts.websocket)
        if facts.body.present:
            flow.request.stream = ticket.sent
        self._completion.open(flow.client_conn, ticket)
        return Admitted(ticket)

    async def _refuse(
        self, flow: AgentFlow, caller: Caller, code: Reason, why: str, status: int | None = None
    ) -> Refused:
        answer = await self._boundary.refuse(caller, attempt_of(flow), code, why, status=status)
        return Refused(reply.refusal(answer, flow.user_agent))

    async def _answer_locally(self, flow: AgentFlow, caller: Caller, content: bytes | None) -> http.Response:
        if content is None:
            return reply.plain_refusal(
                413, Reason.ENVELOPE_INVALID, f"The body is larger than {LOCAL_BODY_BYTES} bytes."
            )
        status, headers, body = await self._local(caller.principal, flow.request.method, flow.request.path, content)
        return http.Response.make(status, body, http.Headers([(n.encode(), v.encode()) for n, v in headers]))

    def _to_us(self, flow: AgentFlow) -> http.Response:
        if flow.request.data.path == b"/healthz" and flow.request.data.method in (b"GET", b"HEAD"):
            return reply.response(200, "application/json", b'{"status": "ok"}\n', ())
        self._completion.observer.unreceipted("not-proxied")
        return reply.plain_refusal(400, Reason.ENVELOPE_INVALID, NOT_PROXIED, flow.user_agent)


def _fits(request: http.Request, limit: int) -> bool:
    # Without a length it may fit; holding shows. With one that is too large nothing is held, and the body is unreadable.
    length = request.headers.get("content-length", "0")
    return length.isdigit() and int(length) <= limit
