"""`/healthz` answers while the process lives; `/readyz` only once nothing is missing."""

from __future__ import annotations

import asyncio

import httpx

from effectgate.api.health import build_api


def get(path: str, missing: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=build_api(lambda: missing))
        async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
            return await client.get(path)

    return asyncio.run(ask())


def test_alive_is_not_ready() -> None:
    assert get("/healthz", "the canary").json()["status"] == "ok"
    answer = get("/readyz", "the canary")
    assert (answer.status_code, answer.json()) == (503, {"ready": False, "missing": "the canary"})
    assert get("/readyz", "").status_code == 200
