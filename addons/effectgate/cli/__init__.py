"""The command line: arguments and printing only (design.md section 7). Exit codes: 0 yes, 1 no, 2 usage or broken files.

Every module here imports what it needs inside its commands: `effectgate version` must not pay for pydantic or mitmproxy.
"""

from __future__ import annotations

import os
import sys

import typer

from effectgate.cli import demo, denials, explain, grant, packs, receipts, run, serve, settings, token
from effectgate.cli.output import CommandError, complain
from effectgate.policy.fault import FaultsError

__all__ = ["main"]

GROUPS = (serve, run, demo, explain, packs, grant, token, denials, receipts, settings)


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


def main() -> None:
    """Run the command of `sys.argv` and exit with its code."""
    try:
        code = build()(standalone_mode=False) or 0
    except FaultsError as error:
        code = complain(*map(str, error.faults))
    except CommandError as error:
        code = complain(str(error), code=error.code)
    except typer.TyperException as error:
        code = complain(f"{error.format_message()}; see `effectgate --help`")
    except typer.Abort:
        code = 130
    except BrokenPipeError:
        # The reader went away (`| head`): nothing is left to say, and the interpreter must not try to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)
