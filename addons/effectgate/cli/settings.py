"""`effectgate config show` and `effectgate version`."""

from __future__ import annotations

import json

import typer

from effectgate.cli.output import ConfigOption, JsonOption, print_json, print_table


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    config = typer.Typer(help="The settings in force.", no_args_is_help=True)
    config.command("show")(show)
    app.add_typer(config, name="config")
    app.command("version")(version)


def show(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print every setting, its value, and where it came from."""
    from effectgate.config import load_settings

    settings = load_settings(config)
    rows = list(settings.origins())
    if as_json:
        print_json({"file": settings.file, "settings": {key: {"value": v, "from": o} for key, v, o in rows}})
    else:
        print_table(("key", "value", "from"), [(key, json.dumps(value), origin) for key, value, origin in rows])


def version(as_json: JsonOption = False) -> None:
    """Print the version."""
    from effectgate import __version__

    if as_json:
        print_json({"version": __version__})
    else:
        print(f"effectgate {__version__}")
