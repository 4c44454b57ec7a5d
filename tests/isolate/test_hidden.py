"""Nothing that decides over a command can be read, written, replaced or uncovered by it; all else in its directory can."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from isolate.cells import USERS, House
from live.gate import environment

pytestmark = pytest.mark.timeout(180)

REFUSED = {"EACCES", "EPERM", "EROFS", "EBUSY", "EXDEV", "EINVAL", "ENOTDIR", "EISDIR", "ENOTEMPTY"}
WAYS = (
    "read", "write", "replace", "remove", "move", "hard_link", "soft_link", "by_descriptor", "chmod",
    "umount", "bind_above", "bind_tree", "overlay", "remount",
)  # fmt: skip
# What may come of it without harm: a cover that stays read-only; a cover that was opened with the capabilities of a namespace of its own.
HARMLESS = {("remount", "done"), ("bind_tree", "empty")}


def secrets(house: House) -> dict[str, Path]:
    """What `run` hides of an installation."""
    gate = house.gate
    return {
        "settings": gate.config,
        "grants": gate.grants,
        "state": gate.state,
        "receipts": gate.state / "receipts.db",
        "key": gate.state / "receipts.key",
        "CA key": gate.directory / "certs" / "ca-key.pem",
        "packs": gate.directory / "packs",
        "pack": gate.directory / "packs" / "ledger.toml",
    }


@dataclass(frozen=True)
class Attempts:
    house: House
    came: dict[str, str]


def digest(directory: Path) -> dict[str, bytes]:
    """Every file below a directory, but for the database, which the proxy itself writes."""
    files = (path for path in sorted(directory.rglob("*")) if path.is_file() and "receipts.db" not in path.name)
    return {str(path): path.read_bytes() for path in files if not path.name.startswith(("ca-bundle", "serve.log"))}


@pytest.fixture(scope="module", params=[(user, option) for user in USERS for option in ("--isolate", "")], ids="".join)
def attempts(request: pytest.FixtureRequest, house: House) -> Iterator[Attempts]:
    user, option = request.param
    task = {f"{way} {name}": [way, str(path)] for way in WAYS for name, path in secrets(house).items()}
    task |= {"ca": ["read", str(house.gate.ca)], "trust": ["read", str(house.gate.ca.with_name("receipt-trust.json"))]}
    task |= {"plant": ["write", str(house.gate.directory)], "move above": ["move", str(house.gate.directory)]}
    task |= {"own file": ["write", str(house.cwd)]}
    before = digest(house.gate.directory)
    yield Attempts(house, house.probe(user, task, *filter(None, [option])))
    assert digest(house.gate.directory) == before


@pytest.mark.parametrize("way", WAYS)
def test_no_way_reaches_a_hidden_file(attempts: Attempts, way: str) -> None:
    came = {name: attempts.came[f"{way} {name}"] for name in secrets(attempts.house)}
    gone = {"ENOENT"}  # inside a hidden directory that can be entered, there is no such name
    assert {name: one for name, one in came.items() if one not in REFUSED | gone and (way, one) not in HARMLESS} == {}


def test_what_clients_need_can_be_read(attempts: Attempts) -> None:
    assert attempts.came["ca"] == attempts.came["trust"] == "done"


def test_nothing_can_be_put_beside_or_in_its_place(attempts: Attempts) -> None:
    assert attempts.came["plant"] == "EROFS"
    assert attempts.came["move above"] == "EBUSY"


def test_the_working_directory_is_writable(attempts: Attempts) -> None:
    assert attempts.came["own file"] == "done"
    assert (attempts.house.cwd / "planted").is_file()


def test_a_bind_mount_elsewhere_is_covered_too(house: House, tmp_path: Path) -> None:
    """The same files under another path, as containers and chroots have them."""
    script = f"mount --bind {house.gate.directory} {tmp_path} && exec " + " ".join(
        [*house.command("root"), "cat", str(tmp_path / "grants.yaml")]
    )
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert "Permission denied" in ran.stderr
    assert "agents" not in ran.stdout
