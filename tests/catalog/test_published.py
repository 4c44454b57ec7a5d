"""Grants for the published effects carry over, and its answers hold; where they were faults ours are better."""

from __future__ import annotations

import json
from typing import Any

import pytest

from catalog.shipped import DATA, Ask, effects, first_named, library
from effectgate.policy.authority import EnvelopeError
from effectgate.policy.command import Recognisers
from effectgate.policy.submission import tool_call
from effectgate.policy.vocabulary import RISKS, Decision

PUBLISHED: list[dict[str, Any]] = json.loads((DATA / "packs" / "published_effects.json").read_text())
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "packs" / "admissions.jsonl").read_text().splitlines()
]

# There any of three execute effects lets a general command tool run anything; here that is an effect of its own.
GENERAL_TOOLS = {"run", "bash", "execute_command"}


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row["id"])
def test_a_published_effect_keeps_its_id_its_risk_and_its_tools(row: dict[str, Any]) -> None:
    ours = library().catalog.effects[row["id"]]
    assert ours.risk is RISKS[row["risk"]]
    assert set(row["mcp_tools"]) - GENERAL_TOOLS <= set(ours.tools)


def test_general_tools_belong_to_one_effect() -> None:
    owners = {effect.id for effect in effects() if GENERAL_TOOLS & set(effect.tools)}
    assert owners == {"shell/run-command"}


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "tool" not in row], ids=lambda row: f"{row['method']} {row['host']}{row['path']}"
)
def test_requests_are_answered_as_there_or_better(row: dict[str, Any]) -> None:
    wanted = row.get("ours", row)
    try:
        verdict = Ask(f"{row['method']} https://{row['host']}{row['path']}").under(row["granted"])
    except EnvelopeError:
        assert (wanted["expect"], wanted["names"]) == ("deny", None)
        return
    assert (verdict.verdict is Decision.ALLOW) is (wanted["expect"] == "allow")
    assert first_named(verdict) == wanted["names"]


def test_only_faults_are_answered_otherwise() -> None:
    assert [row for row in ROWS if "ours" in row and not row.get("hole")] == []


@pytest.mark.parametrize("row", [row for row in ROWS if "tool" in row], ids=lambda row: row["tool"])
def test_tools_are_answered_as_there(row: dict[str, Any]) -> None:
    recognisers = Recognisers(library().catalog.effects.values(), {"github": "github"})
    call = tool_call(row["tool"], recognisers)
    admitting = call.admitting(row["granted"])
    named = admitting.id if admitting else call.would_admit(row["granted"])[0].id
    assert (admitting is not None, named) == (row["expect"] == "allow", row["names"])
