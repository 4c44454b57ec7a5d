"""Settings: defaults, provenance, and every fault of a file at once with line, key and fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from effectgate.config import SHIPPED_PACKS, Settings, load_settings, parse_settings
from effectgate.policy.fault import FaultsError


def parse(text: str, base: Path = Path("/etc/effectgate")) -> Settings:
    return parse_settings(text, base / "effectgate.yaml")


def faults(text: str) -> list[tuple[int, str]]:
    with pytest.raises(FaultsError) as caught:
        parse(text)
    assert all(fault.fix and fault.file.endswith("effectgate.yaml") for fault in caught.value.faults)
    return [(fault.line, fault.key) for fault in caught.value.faults]


def test_an_empty_file_is_all_defaults() -> None:
    settings = parse("")
    assert {origin for _, _, origin in settings.origins()} == {"default"}
    assert settings.written.listen == "127.0.0.1:8080"
    assert settings.state == Path("/etc/effectgate/var")


def test_relative_paths_start_from_the_file_and_absolute_ones_stay() -> None:
    settings = parse("packs: [mine, /srv/packs]\ngrants: ../grants.yaml\n")
    assert settings.packs == (Path("/etc/effectgate/mine"), Path("/srv/packs"))
    assert settings.grants == Path("/etc/effectgate/../grants.yaml")


def test_without_packs_written_or_lying_there_the_shipped_ones_serve(tmp_path: Path) -> None:
    assert parse("", tmp_path).packs == (SHIPPED_PACKS,)
    (tmp_path / "effects").mkdir()
    assert parse("", tmp_path).packs == (tmp_path / "effects",)


def test_every_setting_tells_where_it_came_from() -> None:
    origins = {key: origin for key, _, origin in parse("metrics: 127.0.0.1:1\nnetwork:\n  ports: [443]\n").origins()}
    assert origins["metrics"] == "/etc/effectgate/effectgate.yaml:1"
    assert origins["network.ports"] == "/etc/effectgate/effectgate.yaml:3"
    assert origins["network.resolve"] == "default"


def test_every_key_of_the_design_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "roots.pem").write_text("")
    parse(
        """
listen: "127.0.0.1:8080"
api: {http: "127.0.0.1:4001", grpc: "[::1]:4002"}
metrics: "localhost:9464"
packs: [effects]
grants: grants.yaml
state: var
certs: certs
store: sqlite
sites: {kubernetes: ["k8s.example.internal:6443"]}
receipts: {path: template}
workers: 1
network:
  ports: [80, 443]
  allow_private: ["10.0.0.0/8"]
  resolve: {"api.github.com:443": "127.0.0.1:9443"}
  upstream_ca: roots.pem
exceptions: [{effect: a/read, within: b/admin}]
mcp_servers: {gh: github}
""",
        tmp_path,
    )


def test_all_faults_of_a_file_are_reported_at_once() -> None:
    text = """listne: 3
listen: "proxy.example:80"
api:
  htp: x
  http: 4
metrics: "1.1.1.1"
packs: []
workers: 4
store: postgresql://db/x
receipts: {path: half}
network:
  ports: [80, 99999]
  allow_private: ["10.0.0.1/8"]
  resolve: {"a:1": "b:2"}
  upstream_ca: missing.pem
sites: {"k8s": ["a:99999"]}
exceptions: [{effect: a}]
"""
    assert faults(text) == [
        (1, "listne"),
        (2, "listen"),
        (4, "api.htp"),
        (5, "api.http"),
        (6, "metrics"),
        (7, "packs"),
        (8, "workers"),
        (9, "store"),
        (10, "receipts.path"),
        (12, "network.ports[1]"),
        (13, "network.allow_private[0]"),
        (14, 'network.resolve."a:1"'),
        (15, "network.upstream_ca"),
        (16, "sites.k8s[0]"),
        (17, "exceptions[0].effect"),
        (17, "exceptions[0].within"),
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("listen: '127.0.0.1:1'\nlisten: '127.0.0.1:2'\n", (2, "listen")),
        ("a: [\n", (2, "")),
        ("- a\n", (1, "")),
        ("listen: 2027-13-45\n", (1, "")),
        ("listen: !!python/object:os.system {}\n", (1, "")),
        ("[" * 5000, (0, "")),
    ],
)
def test_what_yaml_itself_does_not_allow(text: str, place: tuple[int, str]) -> None:
    assert faults(text) == [place]


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(FaultsError, match="cannot be read"):
        load_settings(tmp_path / "missing.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"listen: \xff")
    with pytest.raises(FaultsError, match="not UTF-8"):
        load_settings(tmp_path / "latin.yaml")


def test_the_file_is_found_by_option_then_environment_then_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, port in [("option.yaml", 1), ("environment.yaml", 2), ("effectgate.yaml", 3)]:
        (tmp_path / name).write_text(f"listen: 127.0.0.1:{port}\n")
    assert load_settings().listen.port == 3
    monkeypatch.setenv("EFFECTGATE_CONFIG", "environment.yaml")
    assert load_settings().listen.port == 2
    assert load_settings(tmp_path / "option.yaml").listen.port == 1


def test_a_limit_that_would_refuse_everything_is_a_fault() -> None:
    found = faults("limits:\n  connections: 0\n  head_seconds: -1\n  idle_seconds: 0\n  held: 3\n")
    keys = ["connections", "head_seconds", "idle_seconds", "held"]
    assert found == [(line, f"limits.{key}") for line, key in enumerate(keys, 2)]
