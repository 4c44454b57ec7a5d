"""Nothing that decides over a command can be read, written, replaced or uncovered by it; all else in its directory can."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from isolate.cells import AGENT, USERS, House
from live.gate import environment

pytestmark = pytest.mark.timeout(180)

REFUSED = {"EACCES", "EPERM", "EROFS", "EBUSY", "EXDEV", "EINVAL", "ENOTDIR", "EISDIR", "ENOTEMPTY", "ENOENT"}
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
def attempts(request: pytest.FixtureRequest, house: House) -> Attempts:
    user, option = request.param
    task = {f"{way} {name}": [way, str(path)] for way in WAYS for name, path in secrets(house).items()}
    task |= {"ca": ["read", str(house.gate.ca)], "trust": ["read", str(house.gate.ca.with_name("receipt-trust.json"))]}
    task |= {"plant": ["write", str(house.gate.directory)], "move above": ["move", str(house.gate.directory)]}
    task |= {"own file": ["write", str(house.cwd)]}
    before = digest(house.gate.directory)
    came = house.probe(user, task, *filter(None, [option]))
    assert digest(house.gate.directory) == before
    return Attempts(house, came)


@pytest.mark.parametrize("way", WAYS)
def test_no_way_reaches_a_hidden_file(attempts: Attempts, way: str) -> None:
    came = {name: attempts.came[f"{way} {name}"] for name in secrets(attempts.house)}
    assert {name: one for name, one in came.items() if not _harmless(way, one)} == {}


def _harmless(way: str, came: str) -> bool:
    return came in REFUSED or (way, came) in HARMLESS


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


def test_the_command_may_work_beside_the_settings(house: House) -> None:
    """The installation's own directory: what decides is hidden there, all else can be made and changed."""
    directory = house.gate.directory
    task = {f"{way} {name}": [way, str(path)] for way in WAYS for name, path in secrets(house).items()}
    task |= {"plant": ["write", str(directory)], "move above": ["move", str(directory)]}
    before = digest(directory)
    came = house.probe("unprivileged", task, "--isolate", cwd=directory)
    assert {name: content for name, content in digest(directory).items() if name in before} == before
    assert came.pop("plant") == "done"
    assert came.pop("move above") == "EBUSY"
    assert not {name: one for name, one in came.items() if not _harmless(name.split()[0], one)}


def test_a_file_replaced_from_outside_is_told(house: House) -> None:
    """The cover goes with the file that it was on; without a word, nobody would know."""
    directory = house.gate.directory
    command = [*house.command("unprivileged", "--isolate"), "sh", "-c", "echo started; read line"]
    process = subprocess.Popen(command, cwd=directory, env=environment(), stdin=-1, stdout=-1, stderr=-1, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        house.gate.grant([AGENT])
        time.sleep(2)
        _, told = process.communicate("\n", 30)
    assert f"{house.gate.grants} was replaced" in told
    assert told.count("\n") == 1


def test_settings_that_the_next_start_would_read_are_told(house: House) -> None:
    planted = house.cwd / "effectgate.yaml"
    ran = house.run("unprivileged", ["touch", str(planted)])
    planted.unlink()
    assert ran.returncode == 0
    assert f"{planted} was not there before the command" in ran.stderr


def test_without_namespaces_it_is_refused_and_says_how_not(house: House) -> None:
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", *house.command("root"), "echo", "ran"]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "unshare" in ran.stderr
    assert "--same-user" in ran.stderr


def test_the_same_user_is_loudly_unheld(house: House) -> None:
    ran = house.run("unprivileged", ["cat", str(house.gate.grants)], "--same-user")
    assert "agents" in ran.stdout
    assert ran.stderr.startswith("effectgate: --same-user: CMD can then read and change the state, keys, grants")
    both = house.run("unprivileged", ["true"], "--same-user", "--isolate")
    assert both.returncode == 2
