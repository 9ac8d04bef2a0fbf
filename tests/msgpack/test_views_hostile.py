# SPDX-License-Identifier: Apache-2.0
"""Views of a stream."""

from __future__ import annotations

from types import ModuleType

import pytest
from msgpack_messages import fed


@pytest.mark.parametrize("size", [0, 1, 100, 3000, 20_000, 100_000])
def test_views_of_a_stream(msgpack: ModuleType, size: int) -> None:
    """Each view is a separate memoryview with the right bytes, whatever follows it and however it is cut."""
    bins = [bytes([i % 251]) * (size if i % 3 else i % 7) for i in range(200 if size < 10_000 else 12)]
    data = msgpack.packb(bins)
    for piece in (len(data), 1000, 17 if size < 200 else 4099):
        unpacker = msgpack.Unpacker(bin_view=True)
        (views,) = fed(unpacker, data, piece)
        unpacker.feed(b"\xff" * len(data))
        assert [bytes(view) for view in views] == bins
        assert all(type(view) is memoryview and view.readonly for view in views)
        assert len({id(view) for view in views}) == len(views)
        views[0].release()
        assert bytes(views[3]) == bins[3]
    # consecutive values, also after the stream has started over
    unpacker = msgpack.Unpacker(bin_view=True)
    for b in bins[:20]:
        unpacker.feed(msgpack.packb([b, b]))
        assert [bytes(view) for view in unpacker.unpack()] == [b, b]
        unpacker.feed(msgpack.packb(b"x"))
        unpacker.feed(msgpack.packb(b"y"))
        assert [bytes(view) for view in unpacker] == [b"x", b"y"]
        if b and b[0] % 5 == 0:
            unpacker.__init__(bin_view=True)
