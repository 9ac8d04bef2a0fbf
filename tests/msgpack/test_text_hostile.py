# SPDX-License-Identifier: Apache-2.0
"""Text that is not UTF-8 is refused at any place, in short and long messages, whole and in pieces."""

from __future__ import annotations

import os
from functools import partial
from types import ModuleType

import pytest
from msgpack_messages import fed
from processes import run_alone

SURROGATE = b"\xed\xa0\x80"
BAD = [
    *(SURROGATE, b"\xed\xbf\xbf", SURROGATE + b"\xed\xb0\x80", "é한".encode() + SURROGATE),
    *(b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80"),  # longer forms than needed
    *(b"\xf4\x90\x80\x80", b"a\xc3", b"\xf0\x9f\x98", b"\x80", b"\xff"),  # too large, cut, and no character at all
]
PADDING = [0, 5, 300, 40_000]


def text(content: bytes) -> bytes:
    return bytes([0xD9, len(content)]) + content


def messages(bad: bytes, padding: int) -> dict[str, bytes]:
    """Return messages that contain the text, named by its place, with `padding` items before it and some after it."""
    count = (padding + 1).to_bytes(4, "big")
    array = b"\xdd" + (padding + 2).to_bytes(4, "big") + b"\x01" * padding
    keys = b"".join(b"\xce" + i.to_bytes(4, "big") + b"\x00" for i in range(padding))
    return {
        "item": array + text(bad) + b"\x02",
        "long item": array + b"\xda\x01\x2c" + b"x" * (300 - len(bad)) + bad + b"\x02",
        "key": array + b"\x81" + text(bad) + b"\x01" + b"\x02",
        "key of many": b"\xdf" + count + keys + text(bad) + b"\x01",
        "long key": array + b"\x81" + text(b"k" * 200 + bad) + b"\x01" + b"\x02",
        "value": array + b"\x81\xa1k" + text(bad) + b"\x02",
        "value of a known key": b"\xdd" + count + b"\x81\xa1k\xa1v" * padding + b"\x81\xa1k" + text(bad),
    }


# large messages are slow: test only the first text
CASES = [(bad, size) for size in PADDING for bad in BAD[: 1 if size > 1000 else None]]


@pytest.mark.parametrize(("bad", "padding"), CASES)
def test_refused(msgpack: ModuleType, bad: bytes, padding: int) -> None:
    """Every function that unpacks raises UnicodeDecodeError at the offset of the text."""
    options = {"strict_map_key": False}
    for name, message in messages(bad, padding).items():
        offsets = set()
        for call in (
            *(partial(unpack, message, **options) for unpack in (msgpack.unpackb, msgpack.unpackb_from)),
            partial(msgpack.unpackb, bytearray(message), **options),
            *(partial(fed, msgpack.Unpacker(**options), message, max(1, len(message) // parts)) for parts in (1, 3)),
        ):
            with pytest.raises(UnicodeDecodeError) as caught:
                call()
            offsets.add(caught.value.offset)  # type: ignore[attr-defined]
        assert len(offsets) == 1, name


@pytest.mark.parametrize("padding", PADDING)
@pytest.mark.parametrize("good", ["\ud7ff", "\ue000", "\U0010ffff", "\x00", "é" * 40, "\u0800\U00010000"])
def test_the_neighbours_are_text(msgpack: ModuleType, good: str, padding: int) -> None:
    """Valid text closest to the invalid ranges is accepted and returned."""
    obj = [*([1] * padding), good, {good: good, good * 30: good * 30}]
    packed = msgpack.packb(obj)
    assert msgpack.unpackb(packed) == msgpack.unpackb(bytearray(packed)) == obj
    assert msgpack.unpackb_from(packed) == (obj, len(packed))
    assert fed(msgpack.Unpacker(), packed, max(1, len(packed) // 3)) == [obj]


CHANGING = r"""
import mmap, os, signal
narrow, wide = b"a" * (2**20 - 2) + b"\xc3\xa9", b"\xc3\xa9" * 2**19
memory = mmap.mmap(-1, 5 + 2**20)
memory[:5] = b"\xdb\x00\x10\x00\x00"
parent, child = os.getpid(), os.fork()
while not child:
    if os.getppid() != parent:
        os._exit(0)
    memory[5:] = narrow
    memory[5:] = wide
for _ in range(2000):
    try:
        assert len(msgpack.unpackb(memory)) <= 2**20
    except UnicodeDecodeError:
        pass
    kept = [bytes(3000) for _ in range(9)]  # aborts if the heap is damaged
os.kill(child, signal.SIGKILL)
"""


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_shared_memory_that_changes(msgpack: ModuleType) -> None:
    """Another process changes text while it is decoded: the result may be wrong, but no other memory is written."""
    done = run_alone(msgpack, "msgpack", CHANGING)
    assert done.returncode == 0, done.stderr
