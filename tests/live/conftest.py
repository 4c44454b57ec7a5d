"""What the end-to-end tests share: one authority and one thread of origins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from origin.certificates import Authority
from origin.server import Origins, opened


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def origins(authority: Authority) -> Iterator[Origins]:
    with opened(authority) as running:
        yield running
