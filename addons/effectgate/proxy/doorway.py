"""Who is at the door: connections, credentials and CONNECT."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mitmproxy import http
from mitmproxy.connection import Client

from effectgate.boundary import Attempt, Boundary, Caller
from effectgate.policy.authority import Authority, parse_authority
from effectgate.policy.facts import EnvelopeError
from effectgate.policy.vocabulary import Reason
from effectgate.proxy import reply
from effectgate.proxy.observer import Observer
from effectgate.proxy.session import Sessions
from effectgate.proxy.settings import ProxySettings

NO_CREDENTIAL = "This proxy needs a credential: set the proxy URL to http://NAME:TOKEN@HOST:PORT."
WRONG_CREDENTIAL = (
    "The proxy credential is not known or has been revoked: a person makes one with `effectgate token new NAME`."
)


class Doorway:
    """The hooks client_connected, client_disconnected and http_connect."""

    name = "effectgate-doorway"

    def __init__(
        self, sessions: Sessions, boundary: Boundary, settings: ProxySettings, ports: Callable[[], frozenset[int]],
        observer: Observer,
    ) -> None:  # fmt: skip
        self._sessions = sessions
        self._boundary = boundary
        self._settings = settings
        self._ports = ports
        self._observer = observer

    def client_connected(self, client: Client) -> None:
        """Begin a session."""
        self._sessions.open(client)
        self._observer.connections(len(self._sessions))

    async def http_connect(self, flow: http.HTTPFlow) -> None:
        """Open a tunnel for a caller, or refuse with a reason phrase: clients hide the body of a refused CONNECT."""
        caller = await self.caller(flow.client_conn, flow.request)
        if caller is None:
            flow.response = self.turn_away(flow.request)
            return
        session = self._sessions.of(flow.client_conn)
        session.credential = credential_of(flow.request)
        try:
            target = _connect_target(flow.request)
        except EnvelopeError as error:
            flow.response = await self._refuse(caller, flow.request, None, Reason.ENVELOPE_INVALID, str(error))
            return
        if target.port not in self._ports():
            why = f"Port {target.port} is not among the ports that this proxy connects to."
            flow.response = await self._refuse(caller, flow.request, target, Reason.SANDBOX_VIOLATION, why)
            return
        if not self._sessions.claim(session, caller.principal):
            why = "This agent has too many connections open."
            flow.response = await self._refuse(caller, flow.request, target, Reason.TEMPORAL_THROTTLE, why)
            return
        session.tunnel = flow.request.data.host, flow.request.data.port = target.host, target.port

    async def caller(self, client: Client, request: http.Request) -> Caller | None:
        """The caller that the request's own credential names; a wrong one costs its sender a moment."""
        credential = credential_of(request)
        caller = self._sessions.identify(client, credential)
        if caller is None and credential:
            await asyncio.sleep(self._settings.failed_login_seconds)
        return caller

    def turn_away(self, request: http.Request) -> http.Response:
        """407, counted but not receipted: a stranger must not fill the store."""
        self._observer.unreceipted("credential")
        reason = WRONG_CREDENTIAL if credential_of(request) else NO_CREDENTIAL
        return reply.login(reason, str(request.headers.get("user-agent", "")))

    async def _refuse(
        self, caller: Caller, request: http.Request, target: Authority | None, code: Reason, why: str
    ) -> http.Response:
        attempt = Attempt(method="CONNECT", host=target.host if target else "", port=target.port if target else 0)
        answer = await self._boundary.refuse(caller, attempt, code, why)
        response = reply.refusal(answer, str(request.headers.get("user-agent", "")))
        response.reason = str(answer.reason_code)
        return response


def credential_of(request: http.Request) -> str:
    """The Proxy-Authorization value; empty if there is none, or if there are several."""
    values = request.headers.get_all("proxy-authorization")
    return values[0] if len(values) == 1 else ""


def _connect_target(request: http.Request) -> Authority:
    if "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0":
        # RFC 9110 section 9.3.6. mitmproxy would take the body for the first bytes of the tunnel.
        raise EnvelopeError("The CONNECT announces a body, and has none by definition.")
    target = parse_authority(request.data.authority.decode("latin-1"), None)
    hosts = request.headers.get_all("host")
    if len(hosts) > 1 or (hosts and parse_authority(hosts[0], target.port) != target):
        raise EnvelopeError("The Host header of the CONNECT names another destination than its target.")
    return target
