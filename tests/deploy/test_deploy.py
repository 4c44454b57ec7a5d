"""The recipes of deploy/: what they promise of the network and of files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from effectgate.config import parse_settings

DEPLOY = Path(__file__).parents[2] / "deploy"
WORLD = Path(__file__).with_name("firewall_world.py")


def rules(**defined: str) -> str:
    """nftables.nft with some of its definitions replaced."""
    lines = (DEPLOY / "nftables.nft").read_text().splitlines()
    for place, line in enumerate(lines):
        name = line.split(" ")[1] if line.startswith("define ") else ""
        lines[place] = f"define {name} = {defined[name]}" if name in defined else line
    return "\n".join([*lines, ""])


@pytest.mark.needs("nft")
def test_the_firewall_leaves_the_proxy_alone() -> None:
    """Without the rules everything is reached; with them the proxy, from the host's agents and from behind the bridge."""
    command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, str(WORLD)]
    ran = subprocess.run(command, input=rules(agent_user="0"), capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    before, after = map(json.loads, ran.stdout.splitlines())
    assert all(before["host"].values())
    assert all(before["container"].values())
    assert after["host"] == {"proxy": True, "api": False, "alias": False, "far": False, "udp": False}
    assert after["container"] == {"proxy": True, "api": False, "far": False, "udp": False}


@pytest.mark.needs("nft")
def test_the_firewall_as_it_stands_replaces_itself() -> None:
    script = f"nft -f {DEPLOY / 'nftables.nft'} && nft -f {DEPLOY / 'nftables.nft'} && nft list tables"
    command = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == "table inet effectgate\n", ran.stderr


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return loaded


def test_the_agent_is_on_the_internal_network_alone(compose: dict[str, Any]) -> None:
    agent, proxy = compose["services"]["agent"], compose["services"]["effectgate"]
    assert agent["networks"] == ["agents"]
    assert compose["networks"]["agents"]["internal"] is True
    assert set(proxy["networks"]) == {"agents", "outside"}
    for service in (agent, proxy):
        assert not {"ports", "network_mode", "privileged", "pid", "ipc", "extra_hosts", "devices"} & set(service)
        assert service["cap_drop"] == ["ALL"]
        assert "cap_add" not in service
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert agent["dns"] == ["127.0.0.1"]


def test_the_agent_shares_no_volume_and_gets_the_certificate_alone(compose: dict[str, Any]) -> None:
    agent, proxy = compose["services"]["agent"], compose["services"]["effectgate"]
    assert "volumes" not in agent
    assert agent["configs"] == [{"source": "ca", "target": "/etc/effectgate-ca.pem"}]
    assert compose["configs"]["ca"]["file"] == "./ca.pem"
    assert "./settings:/etc/effectgate:ro" in proxy["volumes"]


def test_the_settings_of_the_recipe_are_sound() -> None:
    file = DEPLOY / "settings" / "effectgate.yaml"
    settings = parse_settings(file.read_text(), file)
    assert str(settings.state).startswith("/var/lib/effectgate/")
    assert str(settings.certs).startswith("/var/lib/effectgate/")
    assert not str(settings.certs).startswith(str(settings.state))


@pytest.mark.needs("systemd-analyze")
def test_the_unit_is_sound_and_hardened(tmp_path: Path) -> None:
    text = (DEPLOY / "effectgate.service").read_text()
    unit = tmp_path / "effectgate.service"
    unit.write_text(text.replace("/opt/effectgate/.venv/bin/effectgate", "/bin/true"))
    verified = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert "effectgate.service" not in verified.stderr
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
