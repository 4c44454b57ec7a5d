"""A large header costs what its size costs."""

from __future__ import annotations

import hpack
import pytest

from effectgate.proxy.hpack_plain import PlainEncoder


def test_a_value_stays_as_it_is() -> None:
    assert b"b" * 100_000 in PlainEncoder().encode([(b"x-a", b"b" * 100_000)], huffman=True)


@pytest.mark.parametrize("value", [b"", b"short", b"b" * 70_000])
def test_every_decoder_reads_it(value: bytes) -> None:
    fields = [(b":status", b"200"), (b"x-a", value)]
    encoder, decoder = PlainEncoder(), hpack.Decoder(max_header_list_size=1 << 20)
    for _ in range(2):  # the second time from the table
        assert [tuple(field) for field in decoder.decode(encoder.encode(fields), raw=True)] == fields
