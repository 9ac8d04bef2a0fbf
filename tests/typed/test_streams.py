# SPDX-License-Identifier: Apache-2.0
"""Streams of messages of a type, compressed messages, threads, exceptions."""

from __future__ import annotations

import asyncio
import io
import threading
from dataclasses import dataclass, field
from typing import List, Optional

import pytest

import cpkg
from cpkg import typed
from purepy.errors import OutOfData, StackError, TruncatedError


@dataclass
class User:
    id: int
    tags: List[str] = field(default_factory=list)
    next: Optional[User] = None


MESSAGES = [typed.encode(User(1)), typed.encode(User(2, ["a"] * 40)), typed.encode(User(3, next=User(4)))]
USERS = [User(1), User(2, ["a"] * 40), User(3, next=User(4))]


def test_messages_that_come_in_pieces():
    for size in (1, 3, 7, 1000):
        unpacker = typed.Unpacker(type=User)
        found = []
        data = b"".join(MESSAGES)
        for begin in range(0, len(data), size):
            unpacker.feed(data[begin : begin + size])
            found += list(unpacker)
        assert found == USERS
        assert unpacker.tell() == len(data)
    with pytest.raises(OutOfData):
        unpacker.unpack()
    assert list(typed.Unpacker(io.BytesIO(data), type=User, read_size=16)) == USERS


def test_a_message_of_another_type_is_passed_over():
    unpacker = typed.Unpacker(type=User)
    unpacker.feed(MESSAGES[0] + b"\x91\x01" + MESSAGES[1])
    assert next(unpacker) == USERS[0]
    with pytest.raises(typed.ValidationError) as info:
        next(unpacker)
    assert info.value.offset == len(MESSAGES[0])
    assert unpacker.unpack() == USERS[1]


def test_asynchronous_streams():
    async def read(data: bytes) -> list:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return [user async for user in typed.unpack_async(reader, type=User, read_size=5)]

    assert asyncio.run(read(b"".join(MESSAGES))) == USERS
    with pytest.raises(TruncatedError):
        asyncio.run(read(MESSAGES[1][:-1]))


def test_loads_takes_a_type():
    for compress in (True, False):
        assert cpkg.loads(cpkg.dumps(USERS, compress=compress), type=List[User]) == USERS
    with pytest.raises(typed.ValidationError):
        cpkg.loads(cpkg.dumps(1), type=User)
    with pytest.raises(StackError):
        cpkg.loads(cpkg.dumps(USERS), type=List[User], max_depth=2)
    with pytest.raises(TypeError, match="hooks"):
        cpkg.loads(b"\x01", type=int, use_list=False)


def test_threads_share_a_decoder_and_an_encoder():
    decoder, encoder = typed.Decoder(List[User]), typed.Encoder()
    data = encoder.encode(USERS)
    wrong: list[object] = []

    def work() -> None:
        for _ in range(200):
            if encoder.encode(decoder.decode(data)) != data:
                wrong.append(1)
            try:
                decoder.decode(data[:-3])
            except TruncatedError:
                continue
            wrong.append(2)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_exception_of_a_constructor_comes_out_and_nothing_stays():
    class Stop(BaseException):
        pass

    @dataclass
    class Stops:
        x: int

        def __post_init__(self):
            if self.x == 2:
                raise Stop

    decoder = typed.Decoder(List[Stops])
    for _ in range(3):
        with pytest.raises(Stop):
            decoder.decode(b"\x93\x81\xa1x\x01\x81\xa1x\x02\x81\xa1x\x03")
    assert decoder.decode(b"\x91\x81\xa1x\x01")[0].x == 1
