"""Every host that agents' allowlists carry for an ecosystem is named by an effect, or listed with the reason why none names it."""

from __future__ import annotations

import csv
import functools
import json

import pytest

from catalog.shipped import DATA, Ask, effects, first_named
from effectgate.policy.host import HostPattern

ECOSYSTEM = DATA / "ecosystem"
HOSTS: dict[str, list[str]] = json.loads((ECOSYSTEM / "hosts.json").read_text())
ALL = sorted({host for hosts in HOSTS.values() for host in hosts})


@functools.cache
def _patterns() -> frozenset[HostPattern]:
    return frozenset(shape.host for effect in effects() for shape in effect.shapes if not shape.site)


@functools.cache
def _unnamed() -> dict[str, str]:
    with (ECOSYSTEM / "unnamed.tsv").open(newline="") as file:
        return {row["host"]: row["reason"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


def _named(host: str) -> bool:
    """Whether some shape is for this host; a host list's `*.example` is named only by a shape for all of it."""
    return any(HostPattern.parse(host).included(pattern) for pattern in _patterns())


def test_every_host_is_named_or_listed_with_the_reason() -> None:
    assert [host for host in ALL if _named(host) is (host in _unnamed())] == []


def test_only_hosts_of_the_list_are_excused_and_each_with_its_reason() -> None:
    assert set(_unnamed()) <= set(ALL)
    assert [host for host, reason in _unnamed().items() if len(reason) < 10] == []


# What a host list gives for a pull beyond the registry itself: a denied blob host names the effect of the pull.
BLOBS = [
    ("files.pythonhosted.org/packages/9d/be/10/left-1.0-py3-none-any.whl", "web/package-registry-pypi"),
    ("static.crates.io/crates/left/left-1.0.0.crate", "web/package-registry-crates"),
    ("storage.googleapis.com/proxy-golang-org-prod/0a1b-left.zip", "web/package-registry-go"),
    ("storage.googleapis.com/pub-packages/packages/left-1.0.0.tar.gz", "web/package-registry-pub"),
    ("k0vsblobprodcus3.vsblob.vsassets.io/b-0a/0A.blob?sig=x", "web/package-registry-azure"),
    ("production.cloudflare.docker.com/registry-v2/docker/registry/v2/blobs/sha256/0a/0a1b/data?verify=x", "web/pull-image-dockerhub"),
    ("pkg-containers.githubusercontent.com/ghcr1/blobs/sha256:0a1b?sig=x", "web/pull-image-ghcr"),
    ("cdn01.quay.io/quayio-production-s3/sha256/0a/0a1b?X-Amz-Signature=x", "web/pull-image-quay"),
    ("github-registry-files.githubusercontent.com/1/2?X-Amz-Signature=x", "github/download-package"),
    ("cdn-lfs.hf.co/repos/0a/1b/x?Signature=y", "llm/huggingface-download"),
    ("patch-diff.githubusercontent.com/raw/acme/web/pull/7.diff", "github/read-pull-request"),
]  # fmt: skip


@pytest.mark.parametrize(("address", "effect"), BLOBS)
def test_a_denied_blob_host_names_the_pull(address: str, effect: str) -> None:
    verdict = Ask(f"GET https://{address}").under(["fs/read-workspace"])
    assert (verdict.allowed, first_named(verdict)) == (False, effect)
    assert Ask(f"GET https://{address}").under([effect]).effect == effect
