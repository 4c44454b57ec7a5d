"""`effectgate run`: a command whose clients all go through the proxy."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli.output import CommandError, ConfigOption, complain

if TYPE_CHECKING:
    from effectgate.client_env import TrustFiles
    from effectgate.config import Settings

CommandArgument = Annotated[list[str], typer.Argument(metavar="CMD...", help="The command and its arguments.")]

ISOLATE = "Linux: give CMD a network of its own, whose only way out is the proxy."
SAME_USER = (
    "CMD can then read and change the state, keys, grants and settings: it is held only as long as it does not try"
)

# As shells report them.
NOT_EXECUTABLE, NOT_FOUND, SIGNALLED = 126, 127, 128


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(run)


def run(
    command: CommandArgument,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Whose grant it runs under.")] = None,
    isolate: Annotated[bool, typer.Option("--isolate", help=ISOLATE)] = False,
    same_user: Annotated[bool, typer.Option("--same-user", help=SAME_USER)] = False,
    config: ConfigOption = None,
) -> int:
    """Run CMD with proxy and CA variables set for its clients, under a token that ends with it. Exit as CMD does.

    State, keys, grants, settings and packs are hidden from it, and so are the sockets of programs outside.
    """
    from effectgate.client_env import write_trust_files
    from effectgate.config import load_settings

    if isolate and same_user:
        raise CommandError("--isolate needs what --same-user does without", "leave one of them out")
    settings = load_settings(config)
    name = _agent(settings, agent)
    ca = settings.certs / "ca.pem"
    _require_proxy(settings)
    if not ca.is_file():
        raise CommandError(f"there is no CA at {ca}", "run `effectgate setup` first")
    trust = write_trust_files(ca, settings.certs)
    with _start_failures(command[0]):
        return _openly(settings, name, trust, command) if same_user else _held(settings, name, trust, command, isolate)


def _held(settings: Settings, agent: str, trust: TrustFiles, command: Sequence[str], isolate: bool) -> int:
    from effectgate.isolate.errors import IsolationError

    if sys.platform != "linux":
        raise CommandError("only Linux can hide our files from the command", f"--same-user: {SAME_USER}")
    from effectgate.app.confined import run_confined

    try:
        return run_confined(settings, agent, trust, command, isolate=isolate)
    except IsolationError as error:
        raise CommandError(str(error), f"--same-user: {SAME_USER}") from error


def _openly(settings: Settings, agent: str, trust: TrustFiles, command: Sequence[str]) -> int:
    from effectgate.app.first_run import proxy_url
    from effectgate.app.lease import leased_token
    from effectgate.client_env import client_environment

    complain(f"--same-user: {SAME_USER}")
    with leased_token(settings.state, agent) as token:
        url = proxy_url(settings.listen, agent, token)
        return _execute(command, {**os.environ, **client_environment(url, trust, os.environ)})


@contextmanager
def _start_failures(name: str) -> Iterator[None]:
    """A command that cannot be started, told as shells do."""
    try:
        yield
    except OSError as error:
        if error.filename != name:
            raise
        if isinstance(error, FileNotFoundError):
            raise CommandError(f"{name}: no such command", "check its name and PATH", code=NOT_FOUND) from None
        raise CommandError(f"{name}: {error.strerror}", "make it executable", code=NOT_EXECUTABLE) from error


def _agent(settings: Settings, option: str | None) -> str:
    """The agent of the option, or the only one there is."""
    from effectgate.app.reading import agent_names

    names = agent_names(settings)
    if option is None and len(names) == 1:
        return names[0]
    if option is None:
        raise CommandError(f"{settings.grants} has {len(names)} agents", f"choose with --agent: {', '.join(names)}")
    if option not in names:
        raise CommandError(f"there is no agent {option} in {settings.grants}", f"its agents are: {', '.join(names)}")
    return option


def _require_proxy(settings: Settings) -> None:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.listen.host, settings.listen.host)
    try:
        socket.create_connection((host, settings.listen.port), timeout=3).close()
    except OSError as error:
        reason = error.strerror or "no answer"
        raise CommandError(f"no proxy at {settings.listen} ({reason})", "start ./run_proxy.sh first") from error


def _execute(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run to the end. Ctrl-C reaches the child by the terminal; SIGTERM and SIGHUP are passed on."""
    child = subprocess.Popen(command, env=environment)

    def pass_on(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    code = child.wait()
    return code if code >= 0 else SIGNALLED - code
