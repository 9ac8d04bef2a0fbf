# SPDX-License-Identifier: Apache-2.0
"""After an exception at any point of a call, nothing stays locked, and nothing is silently lost or wrong."""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any, Callable

import pytest
from interrupts import Outcome, at_every_line, by_timer, is_told
from waitless import result_of

import cpkg.msgpack


@pytest.fixture
def lines(msgpack: ModuleType) -> None:
    """Skip a test that interrupts Python code at each line if the codec is C."""
    if msgpack.BACKEND == "native" and sys.implementation.name == "cpython":
        pytest.skip("the codec is not Python code")


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """Keep the collector off: it may call hypothesis, loaded by another test, where exceptions are swallowed."""
    gc.disable()
    yield
    gc.enable()


OBJECTS: list[Any] = [{"a": [1, {"b": "c"}], 5: (b"x", 2.5)}, [1, 2, 3], "text" * 20, 7]
OPTIONS: dict[str, Any] = {"strict_map_key": False, "object_hook": lambda o: o}
PLAIN: dict[str, Any] = {"strict_map_key": False}


def unpacker(msgpack: ModuleType, source: str, options: dict[str, Any]) -> Any:
    packed = b"".join(msgpack.packb(obj) for obj in OBJECTS)
    if source == "file":
        return msgpack.Unpacker(io.BytesIO(packed), read_size=16, **options)
    unpacker = msgpack.Unpacker(**options)
    unpacker.feed(packed)
    return unpacker


def read(stream: Any) -> list[Any]:
    return [stream.unpack(), next(stream), stream.unpack_raw().data, stream.skip()]


def check_unpacker(stream: Any, outcome: Outcome) -> None:
    """The Unpacker continues at the beginning of an object, or reports that it cannot."""
    assert outcome.error is None or outcome.is_interrupted
    for method in (stream.unpack, stream.unpack_raw, stream.skip):
        with suppress(cpkg.msgpack.OutOfData, ValueError):  # within an object, only one of these methods can continue
            if is_told(method):
                return
            break
    rest = [unpack_again(obj) for obj in stream]
    assert rest == OBJECTS[len(OBJECTS) - len(rest) :]


def unpack_again(obj: Any) -> Any:
    """Convert the list that was packed as a tuple back to a tuple."""
    return {**obj, 5: tuple(obj[5])} if type(obj) is dict else obj


@pytest.mark.usefixtures("lines")
@pytest.mark.parametrize("options", [PLAIN, OPTIONS], ids=["plain", "hooked"])
@pytest.mark.parametrize("source", ["fed", "file"])
def test_unpacker(msgpack: ModuleType, source: str, options: dict[str, Any]) -> None:
    """An exception is raised at each line of every method."""
    at_every_line(lambda: unpacker(msgpack, source, options), read, check_unpacker, settles=False)


@pytest.mark.nightly
def test_unpacker_and_signals(msgpack: ModuleType) -> None:
    """A signal handler raises the exception, also while a hook runs."""
    packed = msgpack.packb([{"a": [7, {"b": 8}]}] * 300)

    def make() -> Any:
        stream = msgpack.Unpacker(object_hook=lambda o: o)
        stream.feed(packed * 3)
        return stream

    def check(stream: Any, outcome: Outcome) -> None:
        assert outcome.error is None or outcome.is_interrupted
        if not is_told(lambda: stream.read_bytes(0)):
            assert all(len(obj) == 300 for obj in stream)

    by_timer(make, lambda stream: [stream.unpack() for _ in range(3)], check, settles=False)


@pytest.mark.usefixtures("lines")
def test_feed(msgpack: ModuleType) -> None:
    """The fed piece is there or not, or the Unpacker reports that it cannot continue."""

    def check(stream: Any, outcome: Outcome) -> None:
        assert is_told(lambda: stream.read_bytes(0)) or stream.read_bytes(100) in (b"\x01\x02\x03", b"\x01\x02")

    def make() -> Any:
        stream = msgpack.Unpacker()
        stream.feed(b"\x01\x02")
        return stream

    at_every_line(make, lambda stream: stream.feed(b"\x03"), check, settles=False)


class Foreign:
    pass


def pack(packer: Any) -> Any:
    packer.pack(["a", Foreign(), {"b": [1]}])
    packer.pack_map_pairs([("a", Foreign())])
    packer.pack_ext_type(5, b"x")


@pytest.mark.parametrize("way", [at_every_line, pytest.param(by_timer, marks=pytest.mark.nightly)])
def test_packer(msgpack: ModuleType, way: Callable[..., int], request: pytest.FixtureRequest) -> None:
    """The Packer still works, and its buffer contains only whole messages."""
    if way is at_every_line:
        request.getfixturevalue("lines")
    calls = 1 if way is at_every_line else 300

    def check(packer: Any, outcome: Outcome) -> None:
        assert outcome.error is None or outcome.is_interrupted
        packer.pack(1)
        stream = msgpack.Unpacker()
        stream.feed(packer.bytes())
        found = list(stream)
        assert found.pop() == 1
        assert all(obj in (["a", 5, {"b": [1]}], {"a": 5}, msgpack.ExtType(5, b"x")) for obj in found)

    def make() -> Any:
        return msgpack.Packer(default=lambda o: 5, autoreset=False)

    way(make, lambda packer: [pack(packer) for _ in range(calls)], check, settles=False)


def check_functions(act: Callable[[], Any], every: int) -> None:
    """Interrupt functions: they leave no state that changes the next call."""
    expected = act()

    def check(_: None, outcome: Outcome) -> None:
        assert outcome.error is None or outcome.is_interrupted
        assert act() == expected

    at_every_line(lambda: None, lambda _: act(), check, settles=False, every=every)


@pytest.mark.usefixtures("lines")
def test_functions(msgpack: ModuleType) -> None:
    def act() -> Any:
        message = msgpack.packb(OBJECTS, default=str)
        return msgpack.unpackb(message, **PLAIN), msgpack.unpackb_from(message, 0, **PLAIN)

    check_functions(act, every=1)


def test_dumps_and_loads() -> None:
    """`cpkg.dumps` and `cpkg.loads`, with and without compression."""

    def act() -> Any:
        # C calls Python for an unknown object, and for compression with a level
        packed = [cpkg.dumps(obj) for obj in (OBJECTS, OBJECTS * 20, {1, 2})]
        packed += [cpkg.dumps([1j, *OBJECTS], default=str), cpkg.dumps(OBJECTS * 20, level=1)]
        return [cpkg.loads(message, object_hook=dict) for message in packed]

    check_functions(act, every=4)  # the backends have their own tests; these calls are slow to trace


def test_unpack_async(msgpack: ModuleType) -> None:
    """No object is lost except one that was read completely, and none is incomplete."""

    class Reader:
        def __init__(self) -> None:
            packed = b"".join(msgpack.packb(obj) for obj in OBJECTS)
            self.pieces = [packed[start : start + 16] for start in range(0, len(packed), 16)]

        async def read(self, size: int) -> bytes:
            return self.pieces.pop(0) if self.pieces else b""

    async def collect(objects: Any) -> list[Any]:
        return [unpack_again(obj) async for obj in objects]

    def check(objects: Any, outcome: Outcome) -> None:
        assert outcome.error is None or outcome.is_interrupted
        rest: list[Any] = []
        if not is_told(lambda: rest.extend(result_of(collect(objects)))):
            assert rest == OBJECTS[len(OBJECTS) - len(rest) :]

    make = lambda: msgpack.unpack_async(Reader(), strict_map_key=False)  # noqa: E731
    at_every_line(make, lambda objects: result_of(collect(objects)), check, settles=False)
