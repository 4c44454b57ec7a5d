"""The product with nothing of it replaced: the host's own /etc/resolv.conf, /etc/hosts and /etc/nsswitch.conf, in namespaces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from names.namespace import run_inside, way


@pytest.mark.skipif(not way(), reason="needs mount and network namespaces")
def test_the_files_of_the_host_decide_and_nothing_else_is_asked(tmp_path: Path) -> None:
    told = json.loads(run_inside("names.inside", str(tmp_path)))
    assert told["hosts"] == {
        "public.names.test": [200, "", "127.0.0.1"],
        "private.names.test": [403, "address", "10.0.0.1"],
        "gone.names.test": [502, "resolve", ""],
        "listed.names.test": [200, "", "127.0.0.1"],
        "listed-private.names.test": [403, "address", "10.9.8.7"],
        "refused.test": [403, "", ""],
        "names.local": [502, "resolve", ""],
    }
    assert told["asked"] == ["gone.names.test", "names.local", "private.names.test", "public.names.test"]
    assert told["accepts"] == 2
