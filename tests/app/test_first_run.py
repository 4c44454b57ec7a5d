"""The first start: a demo agent where nothing is configured, private files, and nothing changed afterwards."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from effectgate.app.first_run import prepare, proxy_url
from effectgate.app.reading import read_all
from effectgate.config import SHIPPED_PACKS, Settings, load_settings
from effectgate.identity import token_digest
from effectgate.policy.grant import Grant
from effectgate.setting_values import Address


def settings(directory: Path, listen: str = "127.0.0.1:8080") -> Settings:
    file = directory / "effectgate.yaml"
    file.write_text(f"packs: ['{SHIPPED_PACKS}']\nlisten: '{listen}'\n")
    return load_settings(file)


def demo_grant(directory: Path) -> Grant:
    return read_all(directory / "effectgate.yaml", datetime.now(UTC)).grants["demo"]


def test_the_demo_agent_is_made_once(tmp_path: Path) -> None:
    first = prepare(settings(tmp_path))
    assert first.made
    assert first.url_file == tmp_path / "var" / "demo.url"
    url = urlsplit(first.url_file.read_text().strip())
    (agent,) = yaml.safe_load((tmp_path / "grants.yaml").read_text())["agents"]
    assert agent["token"] == f"sha256:{token_digest(url.password or '')}"
    assert first.url_file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "var").stat().st_mode & 0o777 == 0o700
    written = (tmp_path / "grants.yaml").read_bytes()
    again = prepare(settings(tmp_path))
    assert (again.made, again.url_file) == (False, first.url_file)
    assert (tmp_path / "grants.yaml").read_bytes() == written


def test_what_the_demo_agent_holds_is_within_its_ceiling(tmp_path: Path) -> None:
    prepare(settings(tmp_path))
    grant = demo_grant(tmp_path)
    assert not grant.cannot
    assert not grant.empty


def test_an_installation_with_grants_gets_no_demo_agent(tmp_path: Path) -> None:
    (tmp_path / "grants.yaml").write_text("version: 1\nagents: []\n")
    first = prepare(settings(tmp_path))
    assert (first.url_file, first.made) == (None, False)
    assert (tmp_path / "grants.yaml").read_text() == "version: 1\nagents: []\n"


def test_the_url_follows_the_listener_and_keeps_its_token(tmp_path: Path) -> None:
    first = prepare(settings(tmp_path))
    assert first.url_file is not None
    before = urlsplit(first.url_file.read_text().strip())
    prepare(settings(tmp_path, "0.0.0.0:9999"))
    after = urlsplit(first.url_file.read_text().strip())
    assert (after.hostname, after.port, after.password) == ("127.0.0.1", 9999, before.password)


def test_an_address_of_any_interface_is_reached_on_loopback() -> None:
    assert proxy_url(Address("::", 80), "a", "t") == "http://a:t@[::1]:80"
    assert proxy_url(Address("10.0.0.1", 80), "a", "t") == "http://a:t@10.0.0.1:80"
