"""`effectgate run`: a command under a token of its own, held so that it cannot reach what decides over it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from effectgate.app.cache import cache_directory
from effectgate.app.first_run import proxy_url, reachable
from effectgate.app.lease import leased_token
from effectgate.client_env import TrustFiles, client_environment
from effectgate.config import Settings
from effectgate.isolate.belongings import belongings, unread_settings
from effectgate.isolate.cell import Cell, Plan, built
from effectgate.isolate.network import LOOPBACK
from effectgate.isolate.places import Ground, lay_out
from effectgate.isolate.relay import relaying
from effectgate.isolate.replaced import watching
from effectgate.isolate.supervision import holding_signals
from effectgate.setting_values import Address

# They name sockets of programs outside, which are hidden; a client that still finds them would wait or complain.
OUTSIDE = (
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "TMUX",
    "STY",
)


def run_confined(settings: Settings, agent: str, trust: TrustFiles, command: Sequence[str], *, isolate: bool) -> int:
    """Run `command` for `agent`; with `isolate` in a network whose only way out is the proxy. Its exit code, 128 + N after signal N.

    Raises IsolationError where it cannot be held, OSError where it cannot be started, StoreError.
    """
    cwd = Path.cwd()
    cache = _made(cache_directory())
    view = lay_out(belongings(settings, cwd, cache), Ground.here())
    unread = unread_settings(settings, cwd)
    proxy = reachable(settings.listen)
    door = Address(LOOPBACK, proxy.port) if isolate else proxy
    with (
        holding_signals(),
        built(Plan(view, door.port if isolate else None)) as cell,
        leased_token(settings.state, agent) as token,
        _carrying(cell, proxy),
        watching(view.exposed, _warn),
    ):
        code = cell.run(command, command_environment(proxy_url(door, agent, token), trust, os.environ))
    for file in filter(Path.exists, unread):
        _warn(f"{file} was not there before the command, and the next start would read it; look into it, or remove it")
    return code


def command_environment(url: str, trust: TrustFiles, inherited: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command that is held."""
    kept = {name: value for name, value in inherited.items() if name not in OUTSIDE}
    return {**kept, **client_environment(url, trust, kept)}


@contextlib.contextmanager
def _carrying(cell: Cell, proxy: Address) -> Iterator[None]:
    if cell.door is None:
        yield
        return
    with relaying(cell.door, proxy.host, proxy.port):
        yield


def _made(directory: Path) -> Path:
    """Made now, so that the command cannot make it; where we cannot, it cannot either."""
    with contextlib.suppress(OSError):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def _warn(message: str) -> None:
    print(f"effectgate: {message}", file=sys.stderr, flush=True)
