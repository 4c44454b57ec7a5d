"""Large transfers cost no memory: bench/memory.py in small. What is held does not grow with what passes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from live.gate import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import memory

MIB = 16


@pytest.mark.timeout(300)
def test_resident_memory_does_not_follow_what_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "EVENTS", 2000)
    assert asyncio.run(memory.run(MIB, tmp_path)) == 0
