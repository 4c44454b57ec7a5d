"""Where requests are decided: before the body is read, or as soon as the body that the decision needs is here."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from mitmproxy import http

from effectgate.boundary import Attempt, Boundary, Caller
from effectgate.policy.facts import EnvelopeError, RequestFacts
from effectgate.policy.vocabulary import Reason
from effectgate.proxy import reply
from effectgate.proxy.completion import Completion
from effectgate.proxy.doorway import Doorway, credential_of
from effectgate.proxy.envelope import attempt_of, read_request
from effectgate.proxy.failure import Failure
from effectgate.proxy.flow import Admitted, AgentFlow, Holding, Refused, Stance
from effectgate.proxy.malformed import HEADER_BYTES, Malformed
from effectgate.proxy.session import Session, Sessions
from effectgate.proxy.ticket import Destination, Ticket
from effectgate.proxy.transfer import header_bytes

# The host that the proxy answers for itself (design.md section 4).
INTERNAL = "effectgate.internal"
LOCAL_BODY_BYTES = 64 * 1024

LocalAnswer = tuple[int, list[tuple[str, str]], bytes]
Local = Callable[[str, str, str, bytes], Awaitable[LocalAnswer]]

MANY_CONNECTIONS = "This agent has too many connections open."
MANY_REQUESTS = "Too many requests of this agent are in flight."
MANY_BODIES = "Too many request bodies wait for their decision."
SLOW_BODY = "The request body did not arrive: it stopped, or came too slowly to be waited for."
NOT_PROXIED = "This is a proxy. Set HTTPS_PROXY and HTTP_PROXY to its URL; it takes CONNECT and absolute-form requests."


class Verdicts:
    """The hooks requestheaders, request, effectgate_decide and effectgate_malformed."""

    name = "effectgate-verdicts"

    def __init__(
        self, sessions: Sessions, boundary: Boundary, doorway: Doorway, completion: Completion, local: Local,
    ) -> None:  # fmt: skip
        self._sessions = sessions
        self._boundary = boundary
        self._doorway = doorway
        self._completion = completion
        self._local = local

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
        if self._sessions.stopping:
            flow.stance = Refused(self._stopping(flow))
            return
        try:
            with self._sessions.decision():
                flow.stance = await self._stance(flow, self._sessions.of(flow.client_conn))
        finally:
            self._settle(flow)
        self._completion.observer.decided(time.monotonic() - started)

    def request(self, flow: AgentFlow) -> None:
        """Structural default deny: mitmproxy goes upstream next, and may do so only with leave."""
        if not flow.may_leave and flow.stop is None:
            flow.stop = reply.fault("No decision admits this request; nothing was sent.", flow.user_agent)

    async def effectgate_decide(self, flow: AgentFlow) -> None:
        """Decide a request whose body was held, whole or (content None) too large to hold."""
        stance = flow.stance
        assert isinstance(stance, Holding)
        flow.stance = None
        try:
            with self._sessions.decision():
                flow.stance = await self._decide(flow, stance, flow.request.data.content)
        finally:
            self._settle(flow)

    async def effectgate_slow(self, flow: AgentFlow) -> None:
        """Give up on a body that does not arrive: refused where it was waited for, stopped where it was allowed already."""
        if isinstance(flow.stance, Holding):
            caller = flow.stance.caller
            flow.stance = None
            try:
                flow.stance = await self._refuse(flow, caller, Reason.TEMPORAL_THROTTLE, SLOW_BODY, 408)
            finally:
                self._settle(flow)
        elif (ticket := flow.ticket) is not None:
            flow.failure = Failure("sender")
            flow.stop = reply.failed(ticket.answer, flow.failure, flow.user_agent)

    async def effectgate_malformed(self, data: Malformed) -> None:
        """Answer a head that is no request; with a receipt if the connection has a principal."""
        session = self._sessions.of(data.client)
        caller = self._sessions.identify(data.client, session.credential)
        code = Reason.TEMPORAL_THROTTLE if data.status in (408, 429, 431) else Reason.ENVELOPE_INVALID
        if caller is None:
            self._completion.observer.unreceipted("malformed")
            data.response = reply.plain_refusal(data.status, code, data.reason)
            return
        host, port = session.tunnel or ("", 0)
        answer = await self._boundary.refuse(
            caller, Attempt(host=host, port=port), code, data.reason, status=data.status
        )
        data.response = reply.refusal(answer, "")

    async def _stance(self, flow: AgentFlow, session: Session) -> Stance:
        caller = await self._caller(flow, session)
        if caller is None:
            return Refused(self._doorway.turn_away(flow.request))
        return await self._judge(flow, session, caller)

    def _stopping(self, flow: AgentFlow) -> http.Response:
        self._completion.observer.unreceipted("stopping")
        why = "Effectgate is stopping: nothing was sent, ask again in a moment."
        response = reply.plain_refusal(503, Reason.PDP_ERROR, why, flow.user_agent, [("Retry-After", "1")])
        if not flow.received.http2:
            response.headers["connection"] = "close"
        return response

    async def _decide(self, flow: AgentFlow, stance: Holding, content: bytes | None) -> Stance:
        if stance.facts is None:
            return Refused(await self._answer_locally(flow, stance.caller, content))
        try:
            facts = stance.facts.with_body(content, stance.limit)
        except EnvelopeError as error:
            return await self._refuse(flow, stance.caller, Reason.ENVELOPE_INVALID, str(error))
        return await self._submit(flow, stance.caller, facts)

    def _settle(self, flow: AgentFlow) -> None:
        """What is neither allowed nor waited for, a hook that failed included, is in flight no more."""
        if not isinstance(flow.stance, (Admitted, Holding)):
            self._sessions.leave(flow.client_conn, flow.place)
        elif isinstance(flow.stance, Admitted) and flow.place is not None:
            flow.place.let_go()

    async def _caller(self, flow: AgentFlow, session: Session) -> Caller | None:
        if flow.received.in_tunnel:
            return self._sessions.identify(flow.client_conn, session.credential)
        return await self._doorway.caller(flow.client_conn, flow.request)

    async def _judge(self, flow: AgentFlow, session: Session, caller: Caller) -> Stance:
        # The one that named the caller: a CONNECT refused earlier on this connection leaves its own behind.
        flow.credential = session.credential if flow.received.in_tunnel else credential_of(flow.request)
        if header_bytes(flow.request) > HEADER_BYTES:
            return await self._refuse(flow, caller, Reason.TEMPORAL_THROTTLE, "The request head is too large.", 431)
        if not self._sessions.claim(session, caller.principal):
            return await self._refuse(flow, caller, Reason.TEMPORAL_THROTTLE, MANY_CONNECTIONS)
        flow.place = self._sessions.enter(flow.client_conn, caller.principal)
        if flow.place is None:
            return await self._refuse(flow, caller, Reason.TEMPORAL_THROTTLE, MANY_REQUESTS)
        try:
            facts = read_request(flow, session)
        except EnvelopeError as error:
            return await self._refuse(flow, caller, Reason.ENVELOPE_INVALID, str(error))
        if facts.host == INTERNAL:
            return await self._hold(flow, Holding(caller, None, LOCAL_BODY_BYTES))
        if facts.body.present and (limit := self._boundary.inspect_bytes(caller, facts)) and _fits(flow.request, limit):
            return await self._hold(flow, Holding(caller, facts, limit))
        return await self._submit(flow, caller, facts)

    async def _hold(self, flow: AgentFlow, stance: Holding) -> Stance:
        """Set aside what the body may come to before any of it is read."""
        assert flow.place is not None
        if flow.place.hold(_to_hold(flow.request, stance.limit)):
            return stance
        return await self._refuse(flow, stance.caller, Reason.TEMPORAL_THROTTLE, MANY_BODIES)

    async def _submit(self, flow: AgentFlow, caller: Caller, facts: RequestFacts) -> Stance:
        answer = await self._boundary.submit(caller, facts)
        if not answer.allowed:
            return Refused(reply.refusal(answer, flow.user_agent))
        ticket = Ticket(caller, flow.credential, answer, Destination.of(flow.request), facts.websocket, flow.place)
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


def _to_hold(request: http.Request, limit: int) -> int:
    length = request.headers.get("content-length", "")
    return min(int(length), limit) if length.isdigit() else limit
