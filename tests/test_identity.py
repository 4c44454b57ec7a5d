"""Credentials: which headers are read, whose token is whose, and that revoked stays revoked."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from effectgate.identity import Identity, new_token, read_credential, token_digest

TOKEN = "s3cret:with:colons"
BASIC = "Basic " + base64.b64encode(f"ci-fixer:{TOKEN}".encode()).decode()


@dataclass(frozen=True)
class Token:
    digest: str
    role: str = "agent"


class Commands:
    """A state store with minted tokens and a set of revoked hashes."""

    def __init__(self) -> None:
        self.minted: dict[str, list[Token]] = {}
        self.gone: set[str] = set()

    def tokens(self, name: str) -> Sequence[Token]:
        return self.minted.get(name, [])

    def revoked(self, digest: str) -> bool:
        return digest in self.gone


@pytest.mark.parametrize(
    "header",
    [BASIC, BASIC.replace("Basic", "bAsIc"), f"Bearer ci-fixer:{TOKEN}", f"  {BASIC} ", BASIC.replace(" ", "   ")],
)
def test_a_credential_is_read(header: str) -> None:
    credential = read_credential(header)
    assert credential is not None
    assert (credential.name, credential.digest) == ("ci-fixer", token_digest(TOKEN))


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Basic",
        "Basic !!!!",
        "Basic " + base64.b64encode(b"name-only").decode(),
        "Basic " + base64.b64encode(b":token").decode(),
        "Basic " + base64.b64encode(b"name:").decode(),
        "Basic " + base64.b64encode(b"\xff\xfe:x").decode(),
        "Digest username=ci-fixer",
        f"Bearer {TOKEN.replace(':', '')}",
        "Bearer ci-fixer:" + "x" * 2000,
        "Bearer ci-fixer:\udcff",
        "Bearer ci-fix\xe9r:x",
    ],
)
def test_anything_else_is_no_credential(header: str | None) -> None:
    assert read_credential(header) is None


def test_a_token_is_valid_for_its_own_name_only() -> None:
    identity = Identity(
        {"ci-fixer": frozenset({token_digest(TOKEN)}), "other": frozenset({token_digest("x")})}, Commands()
    )
    assert identity.authenticate(BASIC) is not None
    assert identity.authenticate(f"Bearer other:{TOKEN}") is None
    assert identity.authenticate("Bearer ci-fixer:x") is None
    assert identity.authenticate("Bearer nobody:x") is None


def test_tokens_made_by_command_are_checked_too() -> None:
    commands, (token, digest) = Commands(), new_token()
    identity = Identity({}, commands)
    assert identity.authenticate(f"Bearer ci-fixer:{token}") is None
    commands.minted["ci-fixer"] = [Token(digest)]
    assert identity.authenticate(f"Bearer ci-fixer:{token}") is not None
    assert identity.credentialed("ci-fixer")


def test_a_token_of_another_role_opens_no_proxy() -> None:
    commands, (token, digest) = Commands(), new_token()
    commands.minted["ann"] = [Token(digest, "approver")]
    assert Identity({}, commands).authenticate(f"Bearer ann:{token}") is None


def test_revoked_stays_revoked_even_where_the_file_still_names_it() -> None:
    commands = Commands()
    configured = {"ci-fixer": frozenset({token_digest(TOKEN)})}
    identity = Identity(configured, commands)
    commands.gone.add(token_digest(TOKEN))
    assert identity.authenticate(BASIC) is None
    identity.configure(configured)
    assert identity.authenticate(BASIC) is None
    assert not identity.credentialed("ci-fixer")


def test_a_new_token_has_256_bits_and_needs_no_escape_in_a_url() -> None:
    token, digest = new_token()
    assert len(token) == 43
    assert token.replace("-", "").replace("_", "").isalnum()
    assert digest == token_digest(token)
