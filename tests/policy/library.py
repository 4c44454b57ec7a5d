"""Packs written as text and read back, without a file."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from effectgate.packs_io import NO_SITES, Library, Source, Sources, load
from effectgate.policy.fault import Fault, FaultsError
from effectgate.policy.site import Sites

# The head of a pack takes three lines, so the first line of what follows is line 4.
HEAD = '[plugin]\nname = "{name}"\nversion = 1\n'

SHAPE = 'method = "GET", host = "api.example.com", path = "/items/{id}"'


def effect(
    name: str = "one",
    risk: str = "read",
    http: str = f"{{ {SHAPE} }}",
    hosts: str = '"api.example.com"',
    operations: str = '"web_fetch"',
    more: str = "",
    lowers: str = "",
    matches: str = "",
) -> str:
    """One `[[effect]]` as text; `http` are the rows of `matches.http`, `more`, `lowers` and `matches` further lines."""
    rows = f"http = [\n{http},\n]\n" if http else ""
    return (
        f'[[effect]]\nid = "{name}"\ntitle = "Effect {name}"\nrisk = "{risk}"\n{more}'
        f"[effect.lowers]\noperations = [{operations}]\nhosts = [{hosts}]\n{lowers}"
        f"[effect.matches]\n{rows}{matches}"
    )


def example(request: str, expect: str, answers: str | None, grant: str = "demo/one", more: str = "") -> str:
    """One `[[example]]` as text."""
    named = "" if answers is None else f'effect = "{answers}"\n'
    return f'[[example]]\ngrant = ["{grant}"]\nrequest = "{request}"\nexpect = "{expect}"\n{named}{more}'


def sources(packs: Mapping[str, str], ceilings: Mapping[str, str] | None = None, trusted: bool = True) -> Sources:
    """Texts as if read from files: pack name -> what follows its head."""
    return Sources(
        tuple(Source(f"{name}.toml", name, HEAD.format(name=name) + text, trusted) for name, text in packs.items()),
        tuple(Source(f"ceilings/{name}.toml", name, text, True) for name, text in (ceilings or {}).items()),
    )


def library(packs: Mapping[str, str], ceilings: Mapping[str, str] | None = None, sites: Sites = NO_SITES) -> Library:
    """The packs of these texts; FaultsError as `load` raises it."""
    return load(sources(packs, ceilings), sites=sites)


def faults(packs: Mapping[str, str], **options: object) -> tuple[Fault, ...]:
    """The faults of packs that must not load."""
    with pytest.raises(FaultsError) as caught:
        load(sources(packs), **options)  # type: ignore[arg-type]
    return caught.value.faults


def text_of_published(row: Mapping[str, object]) -> str:
    """One effect of published_effects.json as TOML: JSON's strings and lists are TOML's too."""

    def show(key: str) -> str:
        return json.dumps(row[key])

    shapes = ", ".join(
        "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in shape.items()) + " }"
        for shape in row["http"]  # type: ignore[attr-defined]
    )
    local = str(row["id"]).partition("/")[2]
    return (
        f'[[effect]]\nid = "{local}"\ntitle = {show("title")}\nrisk = {show("risk")}\nlevel = {show("level")}\n'
        f"[effect.lowers]\noperations = {show('operations')}\nsinks = {show('sinks')}\nhosts = {show('hosts')}\n"
        f"[effect.matches]\nmcp_tools = {show('mcp_tools')}\ncommands = {show('commands')}\nhttp = [{shapes}]\n"
    )
