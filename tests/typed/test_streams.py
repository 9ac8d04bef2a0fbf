# SPDX-License-Identifier: Apache-2.0
"""Streams of messages of a type, compressed messages, threads, exceptions."""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass, field
from typing import Dict, List, Optional

import pytest
from msgpack_messages import fed
from waitless import result_of

import cpkg
import purepy.msgpack
from cpkg import typed
from cpkg.objects import dumps_loads
from cpkg.typed import codecs
from purepy.base.errors import LimitError, OutOfData, StackError, TruncatedError
from purepy.msgpack import interface


@dataclass
class User:
    id: int
    tags: List[str] = field(default_factory=list)
    next: Optional[User] = None


MESSAGES = [typed.encode(User(1)), typed.encode(User(2, ["a"] * 40)), typed.encode(User(3, next=User(4)))]
USERS = [User(1), User(2, ["a"] * 40), User(3, next=User(4))]


def test_messages_that_come_in_pieces(msgpack):
    data = b"".join(MESSAGES)
    for size in (1, 3, 7, 1000):
        unpacker = msgpack.Unpacker(type=User)
        assert fed(unpacker, data, size) == USERS
        assert unpacker.tell() == len(data)
    with pytest.raises(OutOfData):
        unpacker.unpack()
    assert list(msgpack.Unpacker(io.BytesIO(data), type=User, read_size=16)) == USERS


def test_a_message_of_another_type_is_skipped(msgpack):
    unpacker = msgpack.Unpacker(type=User)
    unpacker.feed(MESSAGES[0] + b"\x91\x01" + MESSAGES[1])
    assert next(unpacker) == USERS[0]
    with pytest.raises(typed.ValidationError) as info:
        next(unpacker)
    assert info.value.offset == len(MESSAGES[0])
    assert unpacker.unpack() == USERS[1]


@dataclass
class Stopping:
    x: int

    def __post_init__(self):
        if self.x == 2:
            next(iter(()))
        if self.x == 3:
            raise StopAsyncIteration


def test_a_constructor_does_not_end_a_stream(msgpack):
    class Source(io.BytesIO):
        async def read(self, size):
            return super().read(size)

    def read_all(next_of) -> list:
        found = []
        while True:
            try:
                found.append(next_of().x)
            except RuntimeError as exc:
                found.append(str(exc))
            except (StopIteration, StopAsyncIteration):
                return found

    messages = [typed.encode({"x": number}) for number in range(6)]
    text, data = "decoding the message that ends at byte %d raised %s", b"".join(messages)
    stops = [text % (3 * len(messages[0]), "StopIteration"), text % (4 * len(messages[0]), "StopAsyncIteration")]
    assert read_all(msgpack.Unpacker(io.BytesIO(data), type=Stopping).__next__) == [0, 1, *stops, 4, 5]
    stream = msgpack.unpack_async(Source(data), type=Stopping)
    assert read_all(lambda: result_of(stream.__anext__()))[:3] == [0, 1, stops[0]]


def test_asynchronous_streams(msgpack):
    async def read(data: bytes) -> list:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return [user async for user in msgpack.unpack_async(reader, type=User, read_size=5)]

    assert asyncio.run(read(b"".join(MESSAGES))) == USERS
    with pytest.raises(TruncatedError):
        asyncio.run(read(MESSAGES[1][:-1]))


def test_the_functions_of_messagepack_accept_a_type(msgpack):
    data = MESSAGES[2]
    assert msgpack.unpackb(data, type=User) == msgpack.loads(packed=bytearray(data), type=User) == USERS[2]
    assert msgpack.unpack(io.BytesIO(data), type=User) == USERS[2]
    assert msgpack.unpackb_from(b"??" + data + b"?", 2, type=User) == (USERS[2], 2 + len(data))
    assert msgpack.unpackb(data, type=None)["id"] == 3
    assert msgpack.unpackb(data, type=User, max_depth=3, max_total_items=50, raw=False) == USERS[2]
    with pytest.raises(typed.ValidationError) as info:
        msgpack.unpackb_from(b"??" + cpkg.packb({"id": "3"}), 2, type=User)
    assert info.value.offset == 6


@pytest.mark.parametrize("call", ["unpackb", "unpack", "unpackb_from", "Unpacker"])
def test_only_limits_can_be_combined_with_a_type(msgpack, call):
    def unpack(data=MESSAGES[2], **options):
        if call == "Unpacker":
            unpacker = msgpack.Unpacker(**options)
            unpacker.feed(data)
            return unpacker.unpack()
        return getattr(msgpack, call)(io.BytesIO(data) if call == "unpack" else data, **options)

    for limit in ("max_depth", "max_map_len", "max_total_items"):
        with pytest.raises((LimitError, StackError)):
            unpack(type=User, **{limit: 1})
    with pytest.raises(TypeError, match="only with limits, not with raw, use_list"):
        unpack(type=User, raw=True, use_list=False)
    decoder = typed.Decoder(User, max_depth=1)
    with pytest.raises(StackError):
        unpack(type=decoder)
    with pytest.raises(TypeError, match="its own options: pass max_depth"):
        unpack(type=decoder, max_depth=2)
    for options in ({"type": object, "max_depth": 1100}, {"type": typed.Decoder(max_depth=1100)}):
        unpack(b"\x91" * 1100 + b"\x01", **options)
        with pytest.raises(StackError):
            unpack(b"\x91" * 1101 + b"\x01", **options)
    unpack(b"\x92\xa2ab\x01", type=list, max_total_bytes=2)
    for limit in ({"max_total_items": 0}, {"max_total_bytes": 1}):
        with pytest.raises(LimitError):
            unpack(b"\xa2ab", type=str, **limit)


def test_loads_accepts_a_decoder_and_all_errors(msgpack, tmp_path):
    wrong = cpkg.dumps([{"id": "1", "tags": 2}] * 2)
    lax = typed.Decoder(List[Dict[str, int]], strict=False)
    assert cpkg.loads(cpkg.dumps([{"id": "1"}], compress=True), type=lax, max_output_size=100) == [{"id": 1}]
    assert (
        cpkg.loads(typed.encode([{"id": "1"}]), type=lax)
        == typed.decode(typed.encode([{"id": "1"}]), lax)
        == [{"id": 1}]
    )
    (tmp_path / "wrong").write_bytes(wrong)
    for load, given in ((cpkg.loads, wrong), (cpkg.load, tmp_path / "wrong")):
        with pytest.raises(typed.ValidationError) as caught:
            load(given, type=List[User], all_errors=True)
        assert len(caught.value.errors) == 4
        with pytest.raises(TypeError, match="its own options: pass all_errors, max_depth, max_memory to"):
            load(given, type=lax, all_errors=True, max_depth=2, max_memory=1)
        with pytest.raises(TypeError, match="all_errors= needs type="):
            load(given, all_errors=True)
    with pytest.raises(TypeError, match="hooks"):
        cpkg.loads(b"\x01", type=int, use_list=False)


def test_a_decoder_in_loads_has_the_limits_of_loads(msgpack):
    """A small frame must not become a large message; a Decoder with its own limit keeps that limit."""
    bomb = cpkg.dumps([[]] * 1_000_000, compress=True)
    for strict in (True, False):
        with pytest.raises(LimitError, match="max_memory=67108864"):
            cpkg.loads(bomb, type=typed.Decoder(List[list], strict=strict))
        with pytest.raises(LimitError, match="max_memory=100 "):
            cpkg.loads(cpkg.dumps([[]] * 10), type=typed.Decoder(List[list], strict=strict, max_memory=100))


def test_a_messagepack_unpacker_accepts_a_type(msgpack):
    unpacker = msgpack.Unpacker(type=User)
    unpacker.feed(MESSAGES[1] + MESSAGES[2][:-1])
    assert isinstance(unpacker, msgpack.Unpacker)
    assert unpacker.unpack_raw().data == MESSAGES[1]
    assert list(unpacker) == []
    unpacker.feed(MESSAGES[2][-1:] + MESSAGES[0])
    assert list(unpacker) == [USERS[2], USERS[0]]
    unpacker.__init__()
    unpacker.feed(MESSAGES[0])
    assert unpacker.unpack()["id"] == 1
    assert msgpack.Unpacker[User].__origin__ is msgpack.Unpacker


def test_an_interrupt_within_an_object_ends_an_unpacker(msgpack):
    """A hook's error belongs to its message; after any other exception the stream is broken, and reports it."""

    @dataclass
    class Stops:
        error: int

        def __post_init__(self):
            unpacker.tell()
            raise (LookupError, KeyboardInterrupt, MemoryError)[self.error]

    unpacker = msgpack.Unpacker(type=Stops)
    data = [b"\x81\xa5error" + bytes([number]) for number in (0, 1, 0)]
    unpacker.feed(b"".join(data))
    with pytest.raises(LookupError):
        unpacker.unpack()
    assert unpacker.tell() == len(data[0])
    with pytest.raises(KeyboardInterrupt):
        unpacker.unpack()
    with pytest.raises(RuntimeError, match=f"begins at byte {len(data[0])} of the stream"):
        unpacker.unpack()
    unpacker.__init__(type=Stops)
    unpacker.feed(b"\x81\xa5error\x02")
    with pytest.raises(MemoryError):
        unpacker.unpack()
    with pytest.raises(RuntimeError, match="begins at byte 0"):
        unpacker.unpack()


def test_purepy_alone_does_not_support_types(monkeypatch):
    monkeypatch.setattr(interface, "typed", None)
    with pytest.raises(TypeError, match=r"use cpkg\.msgpack"):
        purepy.msgpack.unpackb(b"\x01", type=int)
    with pytest.raises(TypeError, match=r"use cpkg\.msgpack"):
        purepy.msgpack.Unpacker(type=int)


def test_limits_of_compressed_messages_share_compiled_functions(monkeypatch):
    messages = [cpkg.zstd.compress(cpkg.packb([{"id": n}] * (50 + n))) for n in range(3)]
    monkeypatch.setattr(dumps_loads, "MEMORY_FLOOR", 4000)  # so that these are large
    assert cpkg.loads(messages[0], type=List[User], max_output_size=10**6) == [User(0)] * 50
    monkeypatch.delattr(codecs, "Model")  # each new decoder needs it
    for number, message in enumerate(messages):
        assert cpkg.loads(message, type=List[User], max_memory=50_000 + number) == [User(number)] * (50 + number)
    with pytest.raises(LimitError, match="max_memory=4000"):
        cpkg.loads(messages[0], type=List[User], max_memory=4000)
