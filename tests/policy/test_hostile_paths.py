"""The worst paths under 5,000 effects on one host: tails, globs, affixes, reserved and risky ones, and shapes within shapes."""

from __future__ import annotations

import contextlib
import time

import pytest

from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect
from effectgate.policy.facts import EnvelopeError
from effectgate.policy.grant import Grant, grant_of_ids
from effectgate.policy.vocabulary import RISKS
from policy.build import ask, effect, shape

SIZE, LONG = 5000, 8150
KINDS = (
    "GET POST big.test/k{k}/x{n}/*",
    "GET big.test/k{k}/y{n}/{{a}}",
    "GET big.test/k{k}/z{n}*",
    "GET big.test/k{k}/{{a}}/y{n}/{{b}}",
    "GET big.test/*/z{n}",
    "GET big.test/k{k}/*q{n}*",
    "GET big.test/p{n}*",
    "GET big.test/r{n}-{{v}}/{{w}}.git/*",
    "GET big.test/{{a}}/{{b}}/{{c}}/v{n}",
    "GET HEAD big.test/s{k}/{{a}}/t{n}.{{e}}",
)


def _effects() -> list[Effect]:
    risks = list(RISKS)
    rows = [(n, KINDS[n % len(KINDS)].format(n=n, k=n % 50)) for n in range(SIZE)]
    made = [effect(f"w/e{n}", risks[n % 6], text, reserved=n % 7 == 0) for n, text in rows]
    return [
        *made,
        effect("w/all", "read", shape("GET big.test/*", encoded_slash=True)),
        effect("w/vouch", "mutate_remote", hosts=("big.test",)),
    ]


@pytest.fixture(scope="module")
def held() -> tuple[Catalog, Grant]:
    catalog = Catalog.build(_effects())
    return catalog, grant_of_ids(catalog, ["w/all", *(f"w/e{n}" for n in range(0, SIZE, 5))])


def long(unit: str) -> str:
    return unit * (LONG // len(unit))


PATHS = {
    "slashes": "/" * LONG,
    "slash within the bound": "/k1" + "//x" * 30 + long("/a")[:7900],
    "segments": "/" + long("a/"),
    "parameters": "/k1/a" + long(";x"),
    "parameters within the bound": "/k1/a" + ";x" * 9 + long("/k1")[:7900],
    "parameters everywhere": "/a;x" * 64 + long("/q")[:7600],
    "encoded slashes": "/k1" + "%2Fk1" * 32 + "/" + "b" * 7800,
    "encoded slashes everywhere": "/a%2Fb" * 32 + long("/c")[:7800],
    "long pieces between encoded slashes": "/" + "%2F".join(["z" * 240] * 33),
    "everything": "/a//b;x/c%2Fd" * 9 + long("/e")[:7800],
    "pieces of globs": "/k6/" + "".join(f"q{n}z{n}/" for n in range(6, 900, 10)),
    "globs at the end": "/" + "/".join(f"z{n}" for n in range(4, SIZE, 10)) + "/",
    "globs in one segment": "/k5/" + "".join(f"q{n}" for n in range(5, SIZE, 10)) + "//",
    "affixes": "/r7-x%2Fr17-y/w.git/;x//" + long("a/")[:7900],
    "one long segment": "/k1/" + "x" * 8000,
    "capitals": "/K1/" + "X" * 8000,
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_decided_in_time(held: tuple[Catalog, Grant], path: str) -> None:
    """Processor time, the least of three: 50 ms, facts and all."""
    catalog, grant = held
    spent = []
    for _ in range(3):
        begin = time.process_time()
        with contextlib.suppress(EnvelopeError):
            ask(catalog, grant, f"GET https://big.test{path}")
        spent.append(time.process_time() - begin)
    assert min(spent) < 0.05
    assert spent[0] < 1
