"""Keys: made once, private or refused; and the trust file that names the public ones."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from scene import KEY, OTHER_KEY, draft, private

from effectgate.receipts.store import StateModeError, StoreError
from effectgate.receipts.store_keys import (
    SigningKey,
    TrustError,
    installation_key,
    key_id_of,
    publish,
    read_trust,
    signing_key,
)
from effectgate.receipts.store_sqlite import SqliteStore
from effectgate.receipts.store_tokens import remember


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "var"


def test_keys_are_made_once_and_private(state: Path) -> None:
    first, second = signing_key(state), signing_key(state)
    assert (first.new, second.new) == (True, False)
    assert first.key_id == second.key_id == key_id_of(first.public_hex)
    assert installation_key(state) == installation_key(state)
    assert len(installation_key(state)) == 32
    assert state.stat().st_mode & 0o777 == 0o700
    assert {file.name: file.stat().st_mode & 0o777 for file in state.iterdir()} == {
        "receipts.key": 0o600,
        "installation.key": 0o600,
    }


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_key_that_others_could_read_is_refused(state: Path, mode: int) -> None:
    signing_key(state)
    (state / "receipts.key").chmod(mode)
    with pytest.raises(StateModeError, match=r"receipts\.key has mode 0\d\d\d, .*chmod 600"):
        signing_key(state)


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o777])
def test_a_directory_that_others_could_enter_is_refused(state: Path, mode: int) -> None:
    private(state).chmod(mode)
    with pytest.raises(StateModeError, match=r"chmod 700"):
        signing_key(state)


@pytest.mark.parametrize("content", ["", "zz", "ab" * 31, "ab" * 33])
def test_a_damaged_key_is_not_replaced(state: Path, content: str) -> None:
    file = private(state) / "receipts.key"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(StoreError, match="restore it"):
        signing_key(state)
    assert file.read_text() == content


@pytest.mark.parametrize("name", ["receipts.key", "installation.key"])
def test_a_key_that_has_gone_is_not_replaced_beside_its_receipts(state: Path, name: str) -> None:
    key = signing_key(state)
    installation_key(state)
    remember(state, {"ci": frozenset({"a" * 64})})  # tokens alone are made with no key
    (state / name).rename(state / "kept")
    signing_key(state), installation_key(state)
    (state / "kept").rename(state / name)
    with closing(SqliteStore(state, key)) as store:
        store.append(draft(1)).result(5)
    (state / name).unlink()
    with pytest.raises(StoreError, match=rf"{name} is missing.*restore it from your backup, or move"):
        signing_key(state), installation_key(state)
    assert not (state / name).exists()


def test_the_public_key_is_published_at_first_start(tmp_path: Path) -> None:
    trust = tmp_path / "certs" / "receipt-trust.json"
    publish(trust, SigningKey(KEY.private, new=True))
    publish(trust, KEY)
    message = b"message"
    check = read_trust(trust)[KEY.key_id]
    assert check(KEY.sign(message), message)
    assert not check(OTHER_KEY.sign(message), message)
    assert KEY.public_hex == "197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61"


def test_a_new_key_joins_the_old_ones(tmp_path: Path) -> None:
    trust = tmp_path / "trust.json"
    publish(trust, KEY)
    publish(trust, SigningKey(OTHER_KEY.private, new=True))
    assert set(read_trust(trust)) == {KEY.key_id, OTHER_KEY.key_id}


def test_a_known_key_that_the_trust_file_misses_is_a_fault(tmp_path: Path) -> None:
    trust = tmp_path / "trust.json"
    publish(trust, KEY)
    with pytest.raises(TrustError, match=f"does not list {OTHER_KEY.key_id}"):
        publish(trust, OTHER_KEY)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"keys": [{}]}', '{"keys": [{"public_key": "ab"}]}', '{"keys": [{"public_key": 7}]}'],
)
def test_a_file_that_is_no_trust_file(tmp_path: Path, content: str) -> None:
    trust = tmp_path / "trust.json"
    trust.write_text(content)
    with pytest.raises(TrustError, match="is not a trust file"):
        read_trust(trust)


def test_the_key_id_in_the_file_is_not_believed(tmp_path: Path) -> None:
    trust = tmp_path / "trust.json"
    publish(trust, OTHER_KEY)
    entries = json.loads(trust.read_text())
    entries["keys"][0]["key_id"] = KEY.key_id
    trust.write_text(json.dumps(entries))
    assert set(read_trust(trust)) == {OTHER_KEY.key_id}
