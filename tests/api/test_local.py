"""`http://effectgate.internal/v1/...`: the caller's own grant, and what arrives later."""

from __future__ import annotations

import asyncio
import json

import pytest

from effectgate.api.local import LocalAnswers
from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect
from effectgate.policy.grant import grant_of_ids
from effectgate.policy.rulebook import Rulebook
from effectgate.policy.vocabulary import Risk

CATALOG = Catalog.build([Effect("notes/read", "Read notes", Risk.READ, ("web_fetch",), hosts=("notes.example.com",))])
RULES = Rulebook(CATALOG, {"ci-fixer": grant_of_ids(CATALOG, ["notes/read"], "ci-fixer")})


def ask(principal: str, method: str, path: str) -> tuple[int, dict[str, object]]:
    status, headers, body = asyncio.run(LocalAnswers(lambda: RULES)(principal, method, path, b""))
    assert ("Content-Type", "application/json") in headers
    return status, json.loads(body)


@pytest.mark.parametrize("path", ["/v1/grant", "/v1/grant/", "/v1/grant?verbose=1"])
def test_an_agent_sees_its_own_grant(path: str) -> None:
    status, grant = ask("ci-fixer", "GET", path)
    assert (status, grant["principal"]) == (200, "ci-fixer")
    assert grant["can"] == [{"effect": "notes/read", "title": "Read notes", "risk": "read", "where": {}}]


def test_an_agent_without_a_grant_sees_that_and_nobody_elses() -> None:
    status, grant = ask("other", "GET", "/v1/grant")
    assert (status, grant["can"]) == (200, [])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/grant", 405),
        ("POST", "/v1/escalate", 501),
        ("GET", "/v1/escalations/esc-1", 501),
        ("GET", "/v1/escalations", 501),
        ("GET", "/v1/escalated", 404),
        ("GET", "/", 404),
        ("GET", "/v1/grants", 404),
    ],
)
def test_anything_else_says_what_it_is(method: str, path: str, status: int) -> None:
    answered, body = ask("ci-fixer", method, path)
    assert answered == status
    assert body["error"]
