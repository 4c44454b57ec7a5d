"""Header compression without Huffman coding, which RFC 7541 section 5.2 leaves to the sender.

hpack 4.2.0 codes in time quadratic in the length of a value: one of 64 KiB would hold up the whole proxy for two seconds.
"""

from __future__ import annotations

from typing import Any

import hpack


class PlainEncoder(hpack.Encoder):
    """An Encoder that never Huffman-codes."""

    def encode(self, headers: Any, huffman: bool = False) -> bytes:
        """As in the base class; `huffman` is not asked."""
        return super().encode(headers, huffman=False)
