# SPDX-License-Identifier: Apache-2.0
"""Negative limits, and views of a stream."""

from __future__ import annotations

from types import ModuleType

import pytest
from msgpack_messages import fed

OF_KIND = {
    "max_str_len": (b"\xa0", b"\xa1a", b"\xd9\x00", b"\xd9\x2c" + b"a" * 44, b"\xda\x01\x00" + b"a" * 256),
    "max_bin_len": (b"\xc4\x00", b"\xc4\x01a", b"\xc5\x01\x00" + b"a" * 256),
    "max_array_len": (b"\x90", b"\x91\x01", b"\xdc\x00\x00"),
    "max_map_len": (b"\x80", b"\x81\xa0\x01", b"\xde\x00\x00"),
    "max_ext_len": (b"\xc7\x00\x05", b"\xd4\x05a", b"\xd6\xff\x00\x00\x00\x01"),
}


@pytest.mark.parametrize("limit", [-2, -3, -(2**31), -(2**63)])
@pytest.mark.parametrize("name", OF_KIND)
def test_negative_limits_refuse_everything(msgpack: ModuleType, name: str, limit: int) -> None:
    """-1 means no limit; any lower number refuses even empty values."""
    for value in OF_KIND[name]:
        key = value if name in ("max_str_len", "max_bin_len") else b"\xc0"
        for data in (value, b"\x91" + value, b"\x81" + key + value):
            if (name, data[0]) in (("max_array_len", 0x91), ("max_map_len", 0x81)):
                continue
            # the others allow the containers around the value
            options = {"strict_map_key": False, "max_array_len": 1000, "max_map_len": 1000, name: limit}
            with pytest.raises(msgpack.LimitError, match=rf"\d+ exceeds {name}\({limit}\)"):
                msgpack.unpackb(data, **options)
            unpacker = msgpack.Unpacker(**options)
            unpacker.feed(data)
            with pytest.raises(msgpack.LimitError):
                unpacker.unpack()
        msgpack.unpackb(value, **{name: -1})
        msgpack.unpackb(value, **{other: limit for other in OF_KIND if other not in (name, "max_str_len")})


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
