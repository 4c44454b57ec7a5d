"""Nameservers as dnspython asks them, but with a bound on answers over TCP."""

from __future__ import annotations

import asyncio
from typing import Any

import dns.message
import dns.nameserver

# A host has a few addresses; this is more than two hundred. dnspython takes 85 µs for each, in the loop that everybody shares:
# 64 KiB, which whoever owns a granted name could send, would hold up all other agents for a quarter of a second.
ANSWER_BYTES = 4096


class UnusableAnswerError(OSError):
    """An answer over TCP that is too large to be read, or answers something else. Its nameserver is not asked again."""


class BoundedNameserver(dns.nameserver.Do53Nameserver):
    """Over UDP as the base class (512 bytes at most, 1232 where resolv.conf says edns0); over TCP no more than ANSWER_BYTES."""

    async def async_query(
        self,
        request: dns.message.QueryMessage,
        timeout: float,
        source: str | None,
        source_port: int,
        max_size: bool,
        backend: Any,
        one_rr_per_rrset: bool = False,
        ignore_trailing: bool = False,
    ) -> dns.message.Message:
        """The answer to a request; `max_size` asks over TCP. Raises DNSException or OSError."""
        if not max_size:
            return await super().async_query(request, timeout, source, source_port, max_size, backend)
        async with asyncio.timeout(timeout):
            answer = dns.message.from_wire(await self._over_tcp(request.to_wire()))
        if not request.is_response(answer):
            raise UnusableAnswerError("the answer is to another question")
        return answer

    async def _over_tcp(self, request: bytes) -> bytes:
        # RFC 1035 section 4.2.2: two bytes of length before each message.
        reader, writer = await asyncio.open_connection(self.address, self.port)
        try:
            writer.write(len(request).to_bytes(2) + request)
            length = int.from_bytes(await reader.readexactly(2))
            if length > ANSWER_BYTES:
                raise UnusableAnswerError(f"{length} bytes are too many")
            return await reader.readexactly(length)
        finally:
            writer.close()
