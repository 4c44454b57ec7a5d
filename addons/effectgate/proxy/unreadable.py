"""What never came to be decided: no request, or one whose hook failed. A receipt where there is a principal, a count where none is."""

from __future__ import annotations

import asyncio
import dataclasses

from mitmproxy.connection import Client

from effectgate.boundary import Attempt, Boundary, Caller
from effectgate.policy.vocabulary import Reason
from effectgate.proxy import reply
from effectgate.proxy.credential import credential_of
from effectgate.proxy.doorway import Doorway
from effectgate.proxy.envelope import attempt_of
from effectgate.proxy.flow import AgentFlow
from effectgate.proxy.malformed import Malformed
from effectgate.proxy.observer import Observer
from effectgate.proxy.session import Session, Sessions

_REASONS = dict.fromkeys((408, 429, 431), Reason.TEMPORAL_THROTTLE) | {503: Reason.PDP_ERROR}


class Unreadable:
    """The hook effectgate_malformed, `note` for what gets no answer but a close, `fault` for what a failed hook refused."""

    name = "effectgate-unreadable"

    def __init__(self, sessions: Sessions, boundary: Boundary, doorway: Doorway, observer: Observer) -> None:
        self._sessions = sessions
        self._boundary = boundary
        self._doorway = doorway
        self._observer = observer
        self._notes: set[asyncio.Task[None]] = set()

    async def effectgate_malformed(self, data: Malformed) -> None:
        """Answer a head that is no request; with a receipt if anybody is known to have sent it."""
        session = self._sessions.of(data.client)
        caller = await self._sender(data, session)
        code = _REASONS.get(data.status, Reason.ENVELOPE_INVALID)
        if caller is None:
            self._observer.unreceipted("malformed")
            data.response = reply.plain_refusal(data.status, code, data.reason)
            return
        attempt = attempt_of(data.request) if data.request else Attempt()
        if session.tunnel:
            attempt = dataclasses.replace(attempt, host=session.tunnel[0], port=session.tunnel[1])
        answer = await self._boundary.refuse(caller, attempt, code, data.reason, status=data.status)
        data.response = reply.refusal(answer, "")

    def note(self, client: Client, reason: str) -> None:
        """Leave a receipt for a connection that is being closed; the close does not wait for it."""
        self._later(Malformed(client, 400, reason))

    def fault(self, flow: AgentFlow, reason: str) -> None:
        """Leave a receipt for a request whose hook failed before it was decided; its refusal does not wait for it."""
        if flow.stance is None:
            self._later(Malformed(flow.client_conn, 503, reason, credential_of(flow.request), flow.request))

    def _later(self, data: Malformed) -> None:
        if self._sessions.find(data.client) is not None:
            task = asyncio.ensure_future(self.effectgate_malformed(data))
            self._notes.add(task)
            task.add_done_callback(self._notes.discard)

    async def _sender(self, data: Malformed, session: Session) -> Caller | None:
        """Whoever the tunnel, the head itself, or the request before it on this connection named."""
        if session.tunnel or not data.credential:
            return self._sessions.identify(data.client, session.credential if session.tunnel else session.known)
        return await self._doorway.caller(data.client, data.credential)
