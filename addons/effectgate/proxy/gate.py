"""The gate: the addons that decide, in the order they are asked, around one set of sessions."""

from __future__ import annotations

from collections.abc import Callable

from effectgate.boundary import Boundary
from effectgate.proxy import origin_side
from effectgate.proxy.completion import Completion
from effectgate.proxy.doorway import Doorway
from effectgate.proxy.faults import Faults
from effectgate.proxy.observer import Observer
from effectgate.proxy.patrol import Patrol
from effectgate.proxy.session import Authenticate, Sessions
from effectgate.proxy.settings import ProxySettings
from effectgate.proxy.tunnel import Tunnel
from effectgate.proxy.unreadable import Unreadable
from effectgate.proxy.upstream import Upstream
from effectgate.proxy.verdicts import Local, Verdicts


class Gate:
    """Everything that mitmproxy asks. The same in our own program and under `mitmdump -s addons/egress.py`."""

    def __init__(
        self, settings: ProxySettings, boundary: Boundary, authenticate: Authenticate, local: Local,
        ports: Callable[[], frozenset[int]], observer: Observer,
    ) -> None:  # fmt: skip
        origin_side.install()
        self.sessions = Sessions(authenticate, boundary.admitted, settings.limits)
        self.patrol = Patrol(self.sessions, settings.limits, observer)
        self.completion = Completion(self.sessions, boundary, observer)
        self.upstream = Upstream(self.sessions, settings.handshake_seconds, settings.silent_seconds)
        doorway = Doorway(self.sessions, boundary, settings, ports, observer)
        verdicts = Verdicts(self.sessions, boundary, doorway, self.completion, local)
        unreadable = Unreadable(self.sessions, boundary, doorway, observer)
        tunnel = Tunnel(self.sessions, unreadable, settings)
        self.faults = Faults(self.sessions, unreadable.fault)
        self.addons: tuple[object, ...] = (doorway, tunnel, unreadable, verdicts, self.upstream, self.completion)

    def look(self) -> int:
        """End what stands no longer: connections without credential or grant, whose number is returned, and what is of no use.

        To be called every now and then.
        """
        self.upstream.give_up_waiting()
        self.patrol.look()
        return self.sessions.recheck()
