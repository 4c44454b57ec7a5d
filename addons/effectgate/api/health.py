"""`GET /healthz` and `GET /readyz`: whether the process lives, and whether it refuses (design.md section 6)."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from effectgate import __version__


def build_api(ready: Callable[[], str]) -> FastAPI:
    """The HTTP API. `ready` answers with the empty text, or with what is still missing."""
    api = FastAPI(title="Effectgate", version=__version__)

    @api.get("/healthz")
    async def healthz() -> JSONResponse:
        return JSONResponse({"status": "ok", "version": __version__})

    @api.get("/readyz")
    async def readyz() -> JSONResponse:
        missing = ready()
        return JSONResponse({"ready": not missing, "missing": missing}, 503 if missing else 200)

    return api
