"""Names, as a real `serve` resolves them: what is asked, what is answered, and what is dialled."""

from __future__ import annotations

import pytest

from live.ask import Request, plain, tls_1, tls_2
from names.conftest import AGENT, Scene
from names.nameserver import addresses


def test_a_granted_name_is_asked_for_once_and_served(scene: Scene) -> None:
    scene.dns.zone["plain.names.test"] = addresses("127.0.0.1")
    assert scene.get("plain.names.test").status == 200
    assert (scene.dns.count("plain.names.test", "A"), scene.dns.count("plain.names.test", "AAAA")) == (1, 1)


@pytest.mark.parametrize("ask", [plain, tls_1, tls_2])
def test_no_query_leaves_for_a_refused_host(scene: Scene, ask: type) -> None:
    scene.dns.zone["refused.test"] = addresses("127.0.0.1")
    asked, dialled = scene.dns.count(), scene.journal.accepts
    url = f"{'http' if ask is plain else 'https'}://refused.test:{scene.origin.port}/"
    assert ask(scene.gate.door(AGENT), Request("GET", url)).status == 403
    assert (scene.dns.count(), scene.journal.accepts) == (asked, dialled)
