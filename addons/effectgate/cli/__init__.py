"""The command line: arguments and printing only (design.md section 7). Exit codes: 0 yes, 1 no, 2 usage or broken files.

Every module here imports what it needs inside its commands: `effectgate version` must not pay for pydantic or mitmproxy.
"""

from __future__ import annotations

import gc
import io
import os
import sys

import click
import typer

from effectgate.cli import demo, denials, doctor, explain, grant, packs, receipts, run, serve, settings, token
from effectgate.cli.output import USAGE, CommandError, complain
from effectgate.policy.fault import FaultsError

__all__ = ["main"]

GROUPS = (serve, run, demo, explain, packs, grant, token, denials, receipts, doctor, settings)


def build() -> typer.Typer:
    """The whole command tree."""
    app = typer.Typer(
        name="effectgate",
        help="An egress proxy that decides what an AI agent may do on the network, and proves it.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for group in GROUPS:
        group.register(app)
    return app


# Most commands live for half a second and load some hundred thousand objects that all stay: collecting between costs a fifth of it.
COLLECT_AFTER = 100_000


def main() -> None:
    """Run the command of `sys.argv` and exit with its code."""
    gc.set_threshold(COLLECT_AFTER)
    _print_anything()
    os.umask(os.umask(0o077) | 0o022)  # whatever it was, no file of ours is there for everyone to write
    try:
        code = build()(standalone_mode=False) or 0
    except FaultsError as error:
        code = complain(*map(str, error.faults))
    except CommandError as error:
        code = complain(str(error), code=error.code)
    except click.ClickException as error:
        code = _usage(error.format_message())
    except typer.Abort:
        code = 130
    except BrokenPipeError:
        # The reader went away (`| head`): nothing is left to say, and the interpreter must not try to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Exception as error:
        if not _for_people(error):
            raise
        code = complain(str(error))
    sys.exit(code)


def _print_anything() -> None:
    """What stdout cannot encode, such as half of a surrogate pair in a store of strangers, is escaped; in JSON that is an escape too."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _usage(message: str) -> int:
    """A group named without its command answers with its help, anything else with one line."""
    if message.startswith("Usage:"):
        print(message, file=sys.stderr)
        return USAGE
    return complain(f"{message.removesuffix('.')}; see `effectgate --help`")


def _for_people(error: Exception) -> bool:
    """Whether the message is meant to be read: those of the system, and our own errors, which name their fix."""
    return isinstance(error, OSError) or type(error).__module__.startswith("effectgate.")
