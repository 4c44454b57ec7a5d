"""One scene for all rows, played once, many at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hostile.performance import Performance
from hostile.rows import Case
from hostile.scene import staged
from origin.certificates import Authority
from origin.server import opened


@pytest.fixture(scope="session")
def performance(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Performance]:
    """Every selected case, played against one running gate."""
    authority = Authority(tmp_path_factory.mktemp("authority"))
    with opened(authority) as origins, staged(tmp_path_factory.mktemp("hostile"), origins, authority) as scene:
        yield Performance.of(scene, _selected(request))


def _selected(request: pytest.FixtureRequest) -> list[Case]:
    """The cases whose tests this run has."""
    parameters = [getattr(item, "callspec", None) for item in request.session.items]
    return [case for spec in parameters if spec and isinstance(case := spec.params.get("case"), Case)]
