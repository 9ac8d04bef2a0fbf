# SPDX-License-Identifier: Apache-2.0
"""The pure codec's table of keys may forget a key, but never returns a wrong one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgpack_messages import fed

from purepy import msgpack
from purepy.msgpack.keys import KEYS, SIZE, KeyTable

names = st.text(max_size=5)


def found(table: KeyTable, name: str, last: int = 0) -> int:
    """Find a key, check the result, and return its slot."""
    slot, text = table.find(msgpack.packb(name), 1, last)
    assert text == name
    return slot


@given(st.lists(st.tuples(names, names), max_size=50))
def test_two_threads_that_take_the_same_slot(pairs: list[tuple[str, str]]) -> None:
    """The right key is returned, even if another thread has stored a different key in its slot."""
    table = KeyTable()
    for name, other in pairs:
        slot = found(table, name)
        table.slots[slot] = (msgpack.packb(other), len(msgpack.packb(other)), other)
        found(table, name)
        found(table, other)


def test_a_full_table_starts_over() -> None:
    table = KeyTable()
    last = 0
    for _ in range(3):
        for number in range(SIZE + 10):
            last = found(table, f"key {number}", last)
            assert 0 <= last < SIZE


def test_messages_where_the_table_is_wrong() -> None:
    """Wrong keys and wrong successors in the table change no message."""
    records = [{"id": 1, "name": "a", "other": {"id": 2}}] * 3
    packed = msgpack.packb(records)
    assert msgpack.unpackb(packed) == records
    kept = list(KEYS.slots)
    try:
        for slot in range(SIZE):
            KEYS.slots[slot] = (b"\xa5wrong", 6, "wrong")
        assert msgpack.unpackb(packed) == records
        assert msgpack.unpackb(msgpack.packb({"wrong": 1, "id": 2})) == {"wrong": 1, "id": 2}
        assert fed(msgpack.Unpacker(), packed, 1) == [records]
    finally:
        KEYS.slots[:] = kept
