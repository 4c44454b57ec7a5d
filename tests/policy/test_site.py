"""Sites: hosts and ports of services that everyone hosts for himself."""

from __future__ import annotations

import pytest

from effectgate.policy.fault import PatternError
from effectgate.policy.site import Sites

SITES = Sites.parse({"k8s": ["K8s.internal:6443", "10.0.0.1", "[::1]:8443", "k8s.internal"], "none": []})


def test_hosts_and_ports() -> None:
    assert SITES.hosts("@k8s") == {"k8s.internal": {6443, 443}, "10.0.0.1": {443}, "::1": {8443}}
    assert SITES.hosts("@none") == SITES.hosts("@unset") == {}


def test_facts_do_not_depend_on_order() -> None:
    one = Sites.parse({"a": ["x.test", "y.test"], "b": ["z.test"]})
    two = Sites.parse({"b": ["z.test"], "a": ["y.test", "x.test"]})
    assert one.facts() == two.facts() == {"a": ["x.test 443", "y.test 443"], "b": ["z.test 443"]}


@pytest.mark.parametrize("text", ["", "https://x.test", "x.test:99999", "u@x.test", "127.1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(PatternError) as caught:
        Sites.parse({"k8s": [text]})
    assert "the site k8s has no valid address" in caught.value.message
    assert "HOST:PORT" in caught.value.fix
