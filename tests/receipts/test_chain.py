"""One writer's chain: how far rows of a stranger can make it grow."""

from __future__ import annotations

from effectgate.receipts.chain import MAX_JUMP, Chain, Jumps, Link


def _row(lamport: int) -> Link:
    return Link(1, f"r-{lamport}", "decision", lamport, "", "ab" * 32, sound=True)


def test_clocks_that_jump_are_followed_so_far_all_chains_together() -> None:
    jumps = Jumps(left=1000)
    chains = [Chain(str(number), jumps) for number in range(40)]
    for chain in chains:
        chain.take(_row(100))
    assert sum(chain.length for chain in chains) <= 1000 + len(chains)
    assert jumps.left >= 0


def test_a_jump_too_far_is_told_and_not_followed() -> None:
    chain = Chain("worker-1")
    fault = chain.take(_row(MAX_JUMP + 2))
    assert fault is not None
    assert (fault.kind, chain.length) == ("insert", 0)
