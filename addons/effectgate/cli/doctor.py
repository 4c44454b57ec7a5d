"""`effectgate doctor`: what is wrong with this installation, and the fix."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

import typer

from effectgate.cli.output import NO, ConfigOption, JsonOption, print_json, printable


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("doctor")(doctor)


def doctor(as_json: JsonOption = False, config: ConfigOption = None) -> int:
    """Look at settings, files, keys, ports, packs and grants. Exit 1 if there is a problem."""
    from effectgate.app.diagnosis import diagnose

    findings = list(diagnose(config, datetime.now(UTC)))
    if as_json:
        print_json(list(map(dataclasses.asdict, findings)))
    else:
        for finding in findings:
            fix = f"; {finding.fix}" if finding.fix else ""
            print(printable(f"{finding.level:<8} {finding.subject:<9} {finding.message}{fix}"))
    return NO if any(finding.level == "problem" for finding in findings) else 0
