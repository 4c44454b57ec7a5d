"""The canary: a request that nobody may make, sent through the real listener. If it is not refused, nothing is ready."""

from __future__ import annotations

import asyncio
import base64
import secrets

from effectgate.boundary import Caller
from effectgate.proxy.loop import own_traffic
from effectgate.proxy.session import Authenticate
from effectgate.proxy.settings import Endpoint

PRINCIPAL = "effectgate-canary"
# RFC 6761 section 6.4: `.invalid` never resolves, so that even a gate that is open sends nothing anywhere.
HOST = "canary.effectgate.invalid"
SECONDS = 5.0


class Canary:
    """Has a credential of its own, known to this process only, and no grant."""

    def __init__(self, authenticate: Authenticate) -> None:
        token = base64.b64encode(f"{PRINCIPAL}:{secrets.token_urlsafe(32)}".encode()).decode()
        self._credential = f"Basic {token}"
        self._authenticate = authenticate

    def authenticate(self, proxy_authorization: str, /) -> Caller | None:
        """The canary itself, or whoever else the credential names."""
        if secrets.compare_digest(proxy_authorization.encode(errors="surrogateescape"), self._credential.encode()):
            return Caller(PRINCIPAL)
        return self._authenticate(proxy_authorization)

    async def refused(self, listener: Endpoint) -> bool:
        """Whether the request is answered 403 by a decision, within SECONDS."""
        try:
            async with asyncio.timeout(SECONDS):
                head = await self._ask(listener)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return False
        return head.startswith(b"HTTP/1.1 403 ") and b"\r\nx-effectgate-verdict: deny\r\n" in head.lower()

    async def _ask(self, listener: Endpoint) -> bytes:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listener[0], listener[0])
        with own_traffic():
            reader, writer = await asyncio.open_connection(host, listener[1])
        writer.write(
            f"GET http://{HOST}/ HTTP/1.1\r\nHost: {HOST}\r\nProxy-Authorization: {self._credential}\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        try:
            return await reader.readuntil(b"\r\n\r\n")
        finally:
            writer.close()
