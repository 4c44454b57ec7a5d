"""Credential -> principal: tokens are known by SHA-256 only and compared in constant time (design.md section 6)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

# A token is 256 random bits; 43 characters of URL-safe base64, so that it stands in a proxy URL without escapes.
TOKEN_BYTES = 32
AGENT = "agent"
# Longer headers are no credential of ours: a name of 64 and a token of 43 characters need 150.
MAX_HEADER = 1024


@dataclass(frozen=True, slots=True)
class Credential:
    """What a header presents: a name, and the hex SHA-256 of the token. Nothing is verified yet."""

    name: str
    digest: str


class CommandToken(Protocol):
    """A token made by command: the hex SHA-256 of it, and what it may do."""

    @property
    def digest(self) -> str:
        """Hex SHA-256."""

    @property
    def role(self) -> str:
        """`agent`, or what only the API knows: `viewer`, `approver`, `admin`."""


class CommandTokens(Protocol):
    """Tokens made and hashes revoked by command: the state store's side, asked on every verification."""

    def tokens(self, name: str) -> Sequence[CommandToken]:
        """The unexpired tokens minted for `name`, revoked ones among them."""

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
    if header is None or len(header) > MAX_HEADER or not header.isascii():
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
        matches = [hmac.compare_digest(credential.digest, digest) for digest in self._digests(credential.name)]
        return any(matches) and not self._commands.revoked(credential.digest)

    def credentialed(self, name: str) -> bool:
        """Whether a principal still has any valid token."""
        return any(not self._commands.revoked(digest) for digest in self._digests(name))

    def _digests(self, name: str) -> list[str]:
        minted = [token.digest for token in self._commands.tokens(name) if token.role == AGENT]
        return [*self._configured.get(name, ()), *minted]
