# SPDX-License-Identifier: Apache-2.0
"""After an exception at any line, decoders, encoders and the data of classes are as before or as after the call."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass, make_dataclass
from functools import partial
from typing import Any, Callable, List, Literal, Optional, Tuple, Union

import interrupts
import pytest
from interrupts import Outcome
from waitless import result_of

from cpkg import typed


@dataclass
class Point:
    kind: Literal["point"]
    x: int
    y: float


@dataclass
class Name:
    kind: Literal["name"]
    text: str
    at: Optional[Point]


Parts = List[Union[Point, Name]]


def parts(count: int) -> List[Any]:
    return [Name("name", f"n{i}", Point("point", i, i / 2)) if i % 3 else Point("point", i, 0.5) for i in range(count)]


def calls(count: int) -> dict[str, Tuple[Callable[[], Any], Callable[[Any], Any], Any]]:
    """Return by name: a function that creates the subject of a call, the call, and its result."""
    value = parts(count)
    data, plain = typed.encode(value), [asdict(part) for part in value]
    return {
        "decode": (lambda: typed.Decoder(Parts), lambda decoder: decoder.decode(data), value),
        "decode without strictness": (
            lambda: typed.Decoder(Parts, strict=False),
            lambda decoder: decoder.decode(data),
            value,
        ),
        "encode": (typed.Encoder, lambda encoder: encoder.encode(value), data),
        "convert": (lambda: typed.Decoder(Parts), lambda decoder: decoder.convert(plain), value),
        "to_builtins": (lambda: None, lambda _: typed.to_builtins(value), plain),
        "a new Decoder": (lambda: None, lambda _: typed.Decoder(Parts).decode(data), value),
    }


def check_call(act: Callable[[Any], Any], wanted: Any, subject: Any, outcome: Outcome) -> None:
    """Check that a call was interrupted or right, and that the same call on the same subject is right now."""
    if outcome.is_interrupted:
        outcome = Outcome(act(subject), None)
    assert (outcome.value, outcome.error) == (wanted, None)


@pytest.mark.parametrize("name", calls(0))
def test_a_call_interrupted_at_a_line_works_the_next_time(name: str) -> None:
    make, act, wanted = calls(3)[name]
    interrupts.at_every_line(make, act, partial(check_call, act, wanted), every=5)


@pytest.mark.nightly
@pytest.mark.parametrize("name", calls(0))
def test_a_call_interrupted_by_a_signal_works_the_next_time(name: str) -> None:
    make, act, wanted = calls(500)[name]
    interrupts.by_timer(make, act, partial(check_call, act, wanted), times=40)


class Source:
    """A file, or an asynchronous stream, that returns its data in pieces."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data, self.size = data, size
        self.read = io.BytesIO(data).read

    async def aread(self, size: int) -> bytes:
        return self.read(size)


def fed(unpacker: Any, source: Source) -> Any:
    unpacker.feed(source.data)
    return unpacker


STREAMS: dict[str, Callable[[Any, Source], Any]] = {
    "Unpacker": lambda msgpack, source: fed(msgpack.Unpacker(type=Parts), source),
    "Unpacker of a file": lambda msgpack, source: msgpack.Unpacker(source, type=Parts, read_size=source.size),
    "unpack_async": lambda msgpack, source: msgpack.unpack_async(source, type=Parts, read_size=source.size),
}


def stream(msgpack: Any, name: str, count: int) -> Tuple[Any, Source, List[Any], List[Any]]:
    """
    Return a stream of 9 messages, its source, the expected objects, and the list in which a call stores its objects.

    One message is not of the type; it is represented by the offset of its error.
    """
    values: List[Any] = [parts(count + i) for i in range(9)]
    messages = [typed.encode(value) for value in values]
    messages[4] = typed.encode([*values[3], None])
    before = sum(map(len, messages[:4]))
    values[4] = before + len(messages[4]) - 1
    source = Source(b"".join(messages), max(20, before // 7))
    return STREAMS[name](msgpack, source), source, values, []


def next_of(unpacker: Any) -> Any:
    """Return the next object, or None at the end."""
    if not hasattr(unpacker, "__anext__"):
        return next(unpacker, None)
    try:
        return result_of(unpacker.__anext__())
    except StopAsyncIteration:
        return None


def read(subject: Any) -> None:
    unpacker, _, _, got = subject
    value: Any = ...
    while value is not None:
        try:
            value = next_of(unpacker)
        except typed.ValidationError as exc:
            value = exc.offset
        got.extend(() if value is None else (value,))


def check_stream(subject: Any, outcome: Outcome) -> None:
    """Check that a stream continues after an interrupted message or has ended; no object is wrong or repeated."""
    unpacker, source, values, got = subject
    assert outcome.error is None or outcome.is_interrupted, outcome.error
    assert got == values[: len(got)]
    if not outcome.is_interrupted:
        assert got == values
        return
    rest: List[Any] = []
    if interrupts.is_told(lambda: read((unpacker, source, values, rest))):
        return
    assert len(got) + len(rest) >= len(values) - 1
    assert rest == values[len(values) - len(rest) :]


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_interrupted_at_a_line_returns_no_wrong_object(msgpack: Any, name: str) -> None:
    interrupts.at_every_line(lambda: stream(msgpack, name, 1), read, check_stream, times=9, every=29)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_interrupted_by_a_signal_returns_no_wrong_object(msgpack: Any, name: str) -> None:
    interrupts.by_timer(partial(stream, msgpack, name, 60), read, check_stream, times=40)


def test_an_interrupted_first_call_leaves_nothing_unfinished():
    def make() -> Any:
        point = make_dataclass("Point", [("kind", Literal["point"]), ("x", int), ("y", float, 1.5)])
        name = make_dataclass("Name", [("kind", Literal["name"]), ("text", str), ("next", Optional[point], None)])
        return List[Union[point, name]], point, name

    def act(subject: Any) -> Any:
        tp, point, name = subject
        return typed.decode(typed.encode([point("point", 1), name("name", "x", point("point", 2))]), tp)

    def check(subject: Any, outcome: Any) -> None:
        _, point, name = subject
        assert outcome.error is None or outcome.is_interrupted, outcome.error
        assert act(subject) == [point("point", 1, 1.5), name("name", "x", point("point", 2, 1.5))]

    interrupts.at_every_line(make, act, check, every=9)
