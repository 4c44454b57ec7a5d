"""A flow that knows how its request arrived and where it stands. Everything starts without leave to go anywhere."""

from __future__ import annotations

from dataclasses import dataclass

from mitmproxy import http
from mitmproxy.connection import Client, Server

from effectgate.boundary import Caller
from effectgate.policy.facts import RequestFacts
from effectgate.proxy.failure import Failure
from effectgate.proxy.occupancy import Place
from effectgate.proxy.ticket import Ticket


@dataclass(frozen=True, slots=True)
class Received:
    """The request line as it arrived: mitmproxy overwrites scheme, host and authority before the first hook.

    `authority` is that of an absolute-form target or of `:authority`; `in_tunnel` is true after a CONNECT.
    """

    scheme: bytes
    authority: bytes
    http2: bool
    in_tunnel: bool
    end_stream: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer has been made; nothing goes upstream."""

    response: http.Response


@dataclass(frozen=True, slots=True)
class Admitted:
    """A durable ALLOW."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class Holding:
    """The decision waits for up to `limit` bytes of body."""

    caller: Caller
    facts: RequestFacts | None  # None: a request that the proxy answers itself
    limit: int


Stance = Refused | Admitted | Holding


class AgentFlow(http.HTTPFlow):
    """`stance` is None until the gate has spoken, and None is a refusal.

    `stop` ends the flow at the next point where the stream looks: it is sent if no response has begun.
    """

    received: Received
    stance: Stance | None = None
    stop: http.Response | None = None
    failure: Failure | None = None  # why an allowed request got no response
    credential: str = ""
    place: Place | None = None

    def __init__(self, client: Client, server: Server, received: Received) -> None:
        super().__init__(client, server, live=True)
        self.received = received

    @property
    def ticket(self) -> Ticket | None:
        """The ticket of an admitted request, used or not."""
        return self.stance.ticket if isinstance(self.stance, Admitted) else None

    @property
    def may_leave(self) -> bool:
        """Whether this very request, unchanged since it was decided, may go upstream now."""
        ticket = self.ticket
        return ticket is not None and not ticket.closed and self.stop is None and ticket.covers(self.request)

    @property
    def user_agent(self) -> str:
        """What the client calls itself; only the wording of answers depends on it."""
        return str(self.request.headers.get("user-agent", ""))
