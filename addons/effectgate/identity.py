"""Credential -> principal: tokens are known by SHA-256 only and compared in constant time (design.md section 6)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

# A token is 256 random bits; 43 characters of URL-safe base64, so that it stands in a proxy URL without escapes.
TOKEN_BYTES = 32
# Longer headers are no credential of ours: a name of 64 and a token of 43 characters need 150.
MAX_HEADER = 1024


@dataclass(frozen=True, slots=True)
class Credential:
    """What a header presents: a name, and the hex SHA-256 of the token. Nothing is verified yet."""

    name: str
    digest: str


class CommandTokens(Protocol):
    """Tokens made and hashes revoked by command: the state store's side, asked on every verification."""

    def digests(self, name: str) -> Iterable[str]:
        """Hex SHA-256 of the unexpired tokens minted for `name`."""

    def revoked(self, digest: str) -> bool:
        """Whether this hash was ever revoked; it then stays so, wherever else it stands."""


def new_token() -> tuple[str, str]:
    """A fresh token and its hex SHA-256."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    return token, token_digest(token)


def token_digest(token: str) -> str:
    """Hex SHA-256 of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def read_credential(header: str | None) -> Credential | None:
    """The credential in a (Proxy-)Authorization value: Basic (RFC 7617), or `Bearer name:token`; else None."""
    if header is None or len(header) > MAX_HEADER:
        return None
    scheme, _, value = header.strip().partition(" ")
    decode = SCHEMES.get(scheme.lower())
    pair = decode(value.strip()) if decode else ""
    name, colon, token = pair.partition(":")
    return Credential(name, token_digest(token)) if colon and name and token else None


def _basic(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


SCHEMES: Mapping[str, Callable[[str], str]] = {"basic": _basic, "bearer": str}


class Identity:
    """Verifies credentials against `grants.yaml` (hashes by principal), then against the tokens made by command."""

    def __init__(self, configured: Mapping[str, frozenset[str]], commands: CommandTokens) -> None:
        self._configured = configured
        self._commands = commands

    def configure(self, configured: Mapping[str, frozenset[str]]) -> None:
        """Swap in the hashes of a reloaded `grants.yaml`."""
        self._configured = configured

    def authenticate(self, header: str | None) -> Credential | None:
        """The credential of a header, if it is valid now; ask `valid` again on every request, for it may be revoked."""
        credential = read_credential(header)
        return credential if credential is not None and self.valid(credential) else None

    def valid(self, credential: Credential) -> bool:
        """Whether a credential is known for its name and not revoked; every known hash is compared."""
        known = [*self._configured.get(credential.name, ()), *self._commands.digests(credential.name)]
        matches = [hmac.compare_digest(credential.digest, digest) for digest in known]
        return any(matches) and not self._commands.revoked(credential.digest)
