"""Refusals beyond the rate: the bucket, the fold and its Merkle root."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effectgate.receipts.folding import BURST, RATE, RefusalMeter
from effectgate.receipts.merkle import MerkleRoot


def test_the_rate_is_that_of_the_design() -> None:
    assert (RATE, BURST) == (50, 1000)


def test_a_burst_then_the_rate() -> None:
    meter = RefusalMeter()
    assert sum(meter.take("ci", 0.0) for _ in range(2000)) == 1000
    assert sum(meter.take("ci", 1.0) for _ in range(2000)) == 50
    assert sum(meter.take("ci", 1000.0) for _ in range(2000)) == 1000


def test_one_principal_does_not_use_up_anothers() -> None:
    meter = RefusalMeter(burst=1)
    assert [meter.take(name, 0.0) for name in ("a", "a", "b")] == [True, False, True]


def test_a_fold_counts_and_is_handed_over_once() -> None:
    meter = RefusalMeter()
    assert [meter.fold("ci", reason, b"x", "t") for reason in ("A", "B", "A")] == [True, False, False]
    fold = meter.unfold("ci")
    assert fold is not None
    assert fold.output()["count"] == 3
    assert fold.output()["reasons"] == {"A": 2, "B": 1}
    assert meter.unfold("ci") is None


def plain_root(leaves: list[bytes]) -> bytes:
    """RFC 6962 section 2.1 as it is written, recursively."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    return hashlib.sha256(b"\x01" + plain_root(leaves[:half]) + plain_root(leaves[half:])).digest()


@given(st.lists(st.binary(max_size=8), max_size=40))
def test_the_root_is_that_of_rfc_6962(leaves: list[bytes]) -> None:
    tree = MerkleRoot()
    for leaf in leaves:
        tree.add(leaf)
    assert (tree.hex(), tree.size) == (plain_root(leaves).hex(), len(leaves))


# Roots of the first leaves of certificate-transparency's reference tree.
REFERENCE = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]


@pytest.mark.parametrize(
    ("count", "root"),
    [
        (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
        (2, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
        (8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
    ],
)
def test_reference_roots(count: int, root: str) -> None:
    tree = MerkleRoot()
    for leaf in REFERENCE[:count]:
        tree.add(bytes.fromhex(leaf))
    assert tree.hex() == root
