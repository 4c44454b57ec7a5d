"""`effectgate token`: minted, revoked, and revoked for good even where grants.yaml names the hash or does not parse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cli.conftest import WRITTEN_HASH, Command
from effectgate.identity import Identity, token_digest
from effectgate.receipts.store_tokens import TokenStore, remember


@pytest.fixture
def identity(installation: Path) -> Iterator[Identity]:
    """What a running proxy asks."""
    with closing(TokenStore(installation / "var")) as tokens:
        yield Identity({"ci-fixer": frozenset({WRITTEN_HASH})}, tokens)


def test_a_new_token_is_valid_at_once_and_printed_once(
    effectgate: Command, installation: Path, identity: Identity
) -> None:
    made = json.loads(effectgate("token", "new", "ci-fixer", "--json").out)
    assert made["sha256"] == token_digest(made["token"])
    assert made["url"] == f"http://ci-fixer:{made['token']}@127.0.0.1:8080"
    assert identity.authenticate(f"Bearer ci-fixer:{made['token']}") is not None
    kept = b"".join(file.read_bytes() for file in (installation / "var").iterdir())
    assert made["token"].encode() not in kept
    assert (installation / "var").stat().st_mode & 0o777 == 0o700


def test_a_token_may_be_made_for_a_time(effectgate: Command) -> None:
    assert json.loads(effectgate("token", "new", "ci-fixer", "--for", "30m", "--json").out)["expires"]
    assert effectgate("token", "new", "ci-fixer", "--for", "soon").code == 2
    assert effectgate("token", "new", "not a name").code == 2


def test_a_token_for_an_agent_without_a_grant_is_made_with_a_warning(effectgate: Command, installation: Path) -> None:
    assert effectgate("token", "new", "ci-fixer").err == ""
    ran = effectgate("token", "new", "ci-fixr")
    assert (ran.code, ran.err.count("\n"), "has no agent ci-fixr" in ran.err) == (0, 1, True)
    (installation / "grants.yaml").write_text("agents: [")
    assert effectgate("token", "new", "ci-fixr").err == ""


def test_revoking_a_name_ends_its_minted_and_its_written_tokens(
    effectgate: Command, installation: Path, identity: Identity
) -> None:
    made = json.loads(effectgate("token", "new", "ci-fixer", "--json").out)
    ran = effectgate("token", "revoke", "ci-fixer", "--json")
    assert set(json.loads(ran.out)["revoked"]) == {made["sha256"], WRITTEN_HASH}
    assert not identity.credentialed("ci-fixer")
    assert WRITTEN_HASH in (installation / "grants.yaml").read_text()


@pytest.mark.parametrize("damage", ["agents: [", "  - name: ci-fixer\n    ceilin: x\n", "\tbroken"])
def test_revocation_does_not_need_a_file_that_parses(
    effectgate: Command, installation: Path, identity: Identity, damage: str
) -> None:
    grants = installation / "grants.yaml"
    grants.write_text(grants.read_text() + damage)
    assert effectgate("token", "revoke", "ci-fixer").code == 0
    assert not identity.credentialed("ci-fixer")


def test_a_broken_file_gives_up_no_other_agents_hash(
    effectgate: Command, installation: Path, identity: Identity
) -> None:
    other = "b" * 64
    grants = installation / "grants.yaml"
    grants.write_text(grants.read_text() + f'  - name: other\n    token: "sha256:{other}"\n  broken: [\n')
    assert json.loads(effectgate("token", "revoke", "other", "--json").out)["revoked"] == [other]


def test_a_broken_file_with_its_keys_in_another_order_gives_up_no_other_agents_hash(
    effectgate: Command, installation: Path
) -> None:
    """As PyYAML writes it: keys sorted, list items not indented."""
    first, second = "b" * 64, "c" * 64
    agents = "".join(
        f"- ceiling: read-only\n  effects:\n  - web/search\n  name: {name}\n  token: sha256:{digest}\n"
        for name, digest in (("first", first), ("second", second))
    )
    (installation / "grants.yaml").write_text(f"agents:\n{agents}version: 1\nbroken: [")
    assert json.loads(effectgate("token", "revoke", "first", "--json").out)["revoked"] == [first]


def test_a_file_that_lost_the_agent_does_not_keep_a_served_token(
    effectgate: Command, installation: Path, identity: Identity
) -> None:
    remember(installation / "var", {"ci-fixer": frozenset({WRITTEN_HASH})})
    (installation / "grants.yaml").write_text("agents: [")
    assert json.loads(effectgate("token", "revoke", "ci-fixer", "--json").out)["revoked"] == [WRITTEN_HASH]
    assert not identity.credentialed("ci-fixer")


def test_one_hash_may_be_revoked_by_itself(effectgate: Command, installation: Path, identity: Identity) -> None:
    assert effectgate("token", "revoke", f"sha256:{WRITTEN_HASH}").code == 0
    assert not identity.credentialed("ci-fixer")


def test_an_agent_without_tokens_is_exit_1(effectgate: Command) -> None:
    ran = effectgate("token", "revoke", "nobody")
    assert ran.code == 1
    assert "nobody has no token" in ran.err
