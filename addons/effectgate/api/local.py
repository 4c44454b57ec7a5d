"""What the proxy answers itself, for the agent whose credential the connection bears: `http://effectgate.internal/v1/...`."""

from __future__ import annotations

import json
from collections.abc import Callable

from effectgate.grant_view import grant_json
from effectgate.policy.rulebook import Rulebook

Headers = list[tuple[str, str]]
LocalAnswer = tuple[int, Headers, bytes]

# Served by the boundary release; until then an agent is told so, and not that it asked for the wrong thing.
LATER = ("/v1/escalate", "/v1/escalations")
LATER_REASON = "Asking for more arrives with the boundary API; until then a person edits grants.yaml."


class LocalAnswers:
    """`rules` gives the rulebook in force at the time of the request."""

    def __init__(self, rules: Callable[[], Rulebook]) -> None:
        self._rules = rules

    async def __call__(self, principal: str, method: str, path: str, body: bytes) -> LocalAnswer:
        """Status, headers and body for one request of `principal`; `path` may have a query."""
        place = path.partition("?")[0].rstrip("/")
        if place == "/v1/grant":
            if method not in ("GET", "HEAD"):
                return _json(405, {"error": "use GET"}, ("Allow", "GET, HEAD"))
            return self._grant(principal)
        if any(place == prefix or place.startswith(f"{prefix}/") for prefix in LATER):
            return _json(501, {"error": "not implemented", "reason": LATER_REASON})
        return _json(404, {"error": "not found", "reason": "This host answers GET /v1/grant."})

    def _grant(self, principal: str) -> LocalAnswer:
        rules = self._rules()
        return _json(200, grant_json(rules.grant(principal), rules.catalog))


def _json(status: int, value: object, *headers: tuple[str, str]) -> LocalAnswer:
    body = json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"
    return status, [("Content-Type", "application/json"), ("Cache-Control", "no-store"), *headers], body
