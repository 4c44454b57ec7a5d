"""The root of a Merkle tree that grows leaf by leaf, without keeping the leaves (RFC 6962 section 2.1). Pure."""

from __future__ import annotations

import hashlib


class MerkleRoot:
    """Holds one hash for each full subtree, so its size is the logarithm of the number of leaves."""

    def __init__(self) -> None:
        self.size = 0
        self._subtrees: list[tuple[int, bytes]] = []

    def add(self, leaf: bytes) -> None:
        """Append one leaf."""
        size, node = 1, hashlib.sha256(b"\x00" + leaf).digest()
        while self._subtrees and self._subtrees[-1][0] == size:
            node = _parent(self._subtrees.pop()[1], node)
            size *= 2
        self._subtrees.append((size, node))
        self.size += 1

    def hex(self) -> str:
        """The root over all leaves, 64 hex digits."""
        if not self._subtrees:
            return hashlib.sha256(b"").hexdigest()
        node = self._subtrees[-1][1]
        for _, left in reversed(self._subtrees[:-1]):
            node = _parent(left, node)
        return node.hex()


def _parent(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()
