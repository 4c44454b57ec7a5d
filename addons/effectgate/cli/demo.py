"""`effectgate demo`: the whole product in one minute, offline."""

from __future__ import annotations

import typer

from effectgate.cli.output import NO, CommandError


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("demo")(demo)


def demo() -> None:
    """Show a read allowed, a write refused, their receipts, and a forgery caught. Needs no network."""
    from effectgate.app.demo import DemoError, run_demo

    try:
        run_demo()
    except DemoError as error:
        raise CommandError(str(error), "please report this", code=NO) from error
