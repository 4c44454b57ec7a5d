"""`effectgate run`: a command whose clients all go through the proxy."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli.output import CommandError, ConfigOption

if TYPE_CHECKING:
    from effectgate.config import Settings

CommandArgument = Annotated[list[str], typer.Argument(metavar="CMD...", help="The command and its arguments.")]

# As shells report them.
NOT_EXECUTABLE, NOT_FOUND, SIGNALLED = 126, 127, 128


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(run)


def run(
    command: CommandArgument,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Whose grant it runs under.")] = None,
    config: ConfigOption = None,
) -> int:
    """Run CMD with proxy and CA variables set for its clients, under a token that ends with it. Exit as CMD does."""
    from effectgate.app.first_run import proxy_url
    from effectgate.app.lease import leased_token
    from effectgate.client_env import client_environment, write_trust_files
    from effectgate.config import load_settings

    settings = load_settings(config)
    name = _agent(settings, agent)
    ca = settings.certs / "ca.pem"
    _require_proxy(settings)
    if not ca.is_file():
        raise CommandError(f"there is no CA at {ca}", "run `effectgate setup` first")
    trust = write_trust_files(ca, settings.certs)
    with leased_token(settings.state, name) as token:
        url = proxy_url(settings.listen, name, token)
        return _execute(command, {**os.environ, **client_environment(url, trust, os.environ)})


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
    try:
        child = subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        raise CommandError(f"{command[0]}: no such command", "check its name and PATH", code=NOT_FOUND) from None
    except OSError as error:
        fix = "make it executable"
        raise CommandError(f"{command[0]}: {error.strerror}", fix, code=NOT_EXECUTABLE) from error

    def pass_on(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    code = child.wait()
    return code if code >= 0 else SIGNALLED - code
