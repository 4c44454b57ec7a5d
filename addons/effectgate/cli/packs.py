"""`effectgate packs list|lint|test` (and the way to `diff` and `import`): the catalogue, its faults and hazards, its admits/denies tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli import packs_diff, packs_import
from effectgate.cli.catalogue import SiteOption, open_catalogue, open_library, site_names
from effectgate.cli.output import NO, ConfigOption, JsonOption, fault_json, print_json, print_table, printable

if TYPE_CHECKING:
    from effectgate.policy.example import Examiner, Example
    from effectgate.policy.fault import Fault
    from effectgate.policy.pack import Pack

DirectoriesArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="DIR...", help="Read these directories instead of the configured ones.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    packs = typer.Typer(help="The effects that requests are recognised by.", no_args_is_help=True)
    packs.command("list")(list_effects)
    packs.command("lint")(lint)
    packs.command("test")(ask_examples)
    packs.command("diff")(packs_diff.diff)
    packs_import.register(packs)
    app.add_typer(packs, name="packs")


def list_effects(
    directories: DirectoriesArgument = None,
    site: SiteOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Print every effect, its risk, and the hosts that it reaches."""
    catalog = open_catalogue(config, directories, site).policy.catalog
    if as_json:
        effects = [
            {
                "id": effect.id,
                "title": effect.title,
                "risk": effect.risk.word,
                "reserved": effect.reserved,
                "hosts": list(effect.hosts),
            }
            for effect in catalog.effects.values()
        ]
        print_json({"digest": catalog.digest, "effects": effects})
        return
    rows = [
        (effect.id, effect.risk.word, "reserved" if effect.reserved else "", effect.title, _hosts(effect.hosts))
        for effect in catalog.effects.values()
    ]
    print_table(("effect", "risk", "", "title", "hosts"), rows)
    print(f"{len(rows)} effects, {catalog.digest}")


def _hosts(hosts: tuple[str, ...]) -> str:
    """The first of them, and how many more."""
    return " ".join(hosts[:2]) + (f" and {len(hosts) - 2} more" if len(hosts) > 2 else "")


def lint(
    directories: DirectoriesArgument = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for hazards too.")] = False,
    site: SiteOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Print every fault (exit 1) and every hazard of the packs."""
    from effectgate.policy.fault import FaultsError
    from effectgate.policy.lint import lint as hazards_of

    faults: tuple[Fault, ...] = ()
    hazards: list[Fault] = []
    try:
        library = open_library(config, directories, site)
        hazards = hazards_of(library.packs, library.catalog)
    except FaultsError as error:
        faults = error.faults
    if as_json:
        print_json({"faults": list(map(fault_json, faults)), "hazards": list(map(fault_json, hazards))})
    else:
        for finding in (*faults, *hazards):
            print(printable(str(finding)))
        print(f"{len(faults)} faults, {len(hazards)} hazards")
    return NO if faults or (strict and hazards) else 0


def ask_examples(
    directories: DirectoriesArgument = None,
    site: SiteOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Ask every [[example]] of the packs; exit 1 if one is answered otherwise."""
    from effectgate.policy.example import Examiner

    library = open_library(config, directories, site)
    # Examples are written for @NAME at NAME.example, wherever the operator's own site may be.
    library = open_library(
        config, directories, [*(f"{name}={name}.example" for name in site_names(library)), *(site or ())]
    )
    examiner = Examiner(library.catalog)
    rows = [(pack, example) for pack in library.packs for example in pack.examples]
    wrong = [wrong for pack, example in rows if (wrong := _wrong(examiner, pack, example))]
    if as_json:
        print_json({"rows": len(rows), "wrong": wrong})
    else:
        for row in wrong:
            print(
                printable(
                    f"{row['file']}:{row['line']}: {row['request']}: expected {row['expected']}, answered {row['answered']}"
                )
            )
        print(f"{len(rows)} rows, {len(wrong)} wrong")
    return NO if wrong else 0


def _wrong(examiner: Examiner, pack: Pack, example: Example) -> dict[str, object] | None:
    """What is wrong with a row, or None."""
    from effectgate.policy.example import ExampleError

    try:
        response = examiner.ask(example)
    except ExampleError as error:
        answered = str(error)
    else:
        if response.fits(example):
            return None
        answered = f"{'allow' if response.allowed else 'deny'} {' '.join(response.effects)} ({response.reason})"
    expected = f"{'allow' if example.allow else 'deny'} {'' if example.effect is None else example.effect or '(none)'}"
    place = {"file": pack.document.file, "line": pack.document.line_of(example.path)}
    return {**place, "request": example.request, "expected": expected.strip(), "answered": answered.strip()}
