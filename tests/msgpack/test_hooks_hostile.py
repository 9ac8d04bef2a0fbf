# SPDX-License-Identifier: Apache-2.0
"""Hooks that call back, raise, change what is packed or drop what calls them; threads; references and the collector."""

from __future__ import annotations

import gc
import io
import sys
import weakref
from types import ModuleType
from typing import Any

import pytest
from backends import available
from threads import run_threads, switching

CPYTHON = sys.implementation.name == "cpython"


class Foreign:
    """An object that nothing packs without `default`."""


class Boom(ValueError):
    """What a hook raises: of the kind that codecs raise for bad input."""


# --- packing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["grow", "shrink", "clear", "replace"])
@pytest.mark.parametrize("place", ["key", "value"])
def test_a_dict_changed_by_default(msgpack: ModuleType, change: str, place: str) -> None:
    """A dict that changes while it is packed is an error, whether a key or a value is at hand."""
    items: dict[Any, Any] = {"a": 1}
    items.update({Foreign(): 2} if place == "key" else {"foreign": Foreign()})
    items.update({f"k{i}": [i] for i in range(20)})

    def default(o: Any) -> Any:
        if change == "grow":
            items.update({i: i for i in range(100)})
        elif change == "shrink":
            items.popitem()
        elif change == "replace":
            items.clear()
            items.update({f"n{i}": [i] for i in range(22)})
        else:
            items.clear()
        return "x"

    try:
        packed = msgpack.packb(items, default=default)
    except RuntimeError as exc:
        assert "dictionary" in str(exc)  # noqa: PT017 - either outcome is right for a dict of the same size
        assert change == "replace" or "changed size during" in str(exc)  # noqa: PT017
    else:
        assert change == "replace"
        assert len(msgpack.unpackb(packed, object_pairs_hook=list)) == 22


@pytest.mark.parametrize(
    ("method", "arguments"),
    [("pack", (1,)), ("pack_array_header", (1,)), ("pack_map_header", (1,)), ("pack_map_pairs", ([],)),
     ("pack_ext_type", (1, b"x")), ("reset", ()), ("bytes", ()), ("getbuffer", ()), ("__init__", ())],
)  # fmt: skip
def test_default_that_packs_with_the_same_packer(msgpack: ModuleType, method: str, arguments: Any) -> None:
    """A call back into the Packer that is packing is refused, whichever method; afterwards it works again."""

    def call(o: Any) -> Any:
        return getattr(packer, method)(*arguments)

    def call_and_go_on(o: Any) -> str:
        with pytest.raises(RuntimeError, match=refusal):
            call(o)
        return "ok"

    refusal = rf"^Packer\.{method}\(\) cannot be called while packing is in progress$"
    packer = msgpack.Packer(default=call, autoreset=False)
    with pytest.raises(RuntimeError, match=refusal):
        packer.pack([1, Foreign()])
    assert packer.bytes() == b""
    packer.pack([1])
    assert packer.bytes() == b"\x91\x01"
    packer = msgpack.Packer(default=call_and_go_on)
    assert packer.pack([Foreign()]) == b"\x91\xa2ok"


def test_default_that_packs_with_functions(msgpack: ModuleType) -> None:
    """Packing something else from within is fine, to any depth that the interpreter allows."""
    depth = 0

    def default(o: Any) -> Any:
        nonlocal depth
        depth += 1
        return msgpack.packb([Foreign()] if depth < 50 else b"end" * 100_000, default=default)

    packed = msgpack.packb([Foreign()], default=default)
    for _ in range(50):
        packed = msgpack.unpackb(packed)[0]
    assert msgpack.unpackb(packed) == b"end" * 100_000

    def endless(o: Any) -> Any:
        return msgpack.packb(Foreign(), default=endless)

    with pytest.raises(RecursionError):
        msgpack.packb(Foreign(), default=endless)


def test_default_that_raises(msgpack: ModuleType) -> None:
    """An error of the hook is the caller's own, untouched; the Packer works on."""

    def default(o: Any) -> Any:
        raise Boom(o)

    packer = msgpack.Packer(default=default)
    foreign = Foreign()
    for _ in range(3):
        with pytest.raises(Boom) as caught:
            packer.pack({"a": [1, foreign]})
        assert caught.value.args == (foreign,)
        assert not hasattr(caught.value, "offset")
    assert packer.pack([1]) == b"\x91\x01"


def test_default_that_drops_the_packer(msgpack: ModuleType) -> None:
    """The last reference to the Packer goes while it packs."""
    holder: list[Any] = []

    def default(o: Any) -> Any:
        holder.clear()
        gc.collect()
        return "x" * 100

    holder.append(msgpack.Packer(default=default))
    assert len(holder[0].pack([Foreign(), Foreign()])) == 205


def test_a_failure_leaves_a_callers_buffer(msgpack: ModuleType) -> None:
    """An object that fails to pack leaves nothing in the bytearray."""
    buffer = bytearray(b"before")
    packer = msgpack.Packer(buffer=buffer)
    with pytest.raises(TypeError):
        packer.pack([1, 2, Foreign()])
    assert buffer == b"before"
    assert packer.pack([1]) is None
    assert buffer == b"before\x91\x01"
    target = bytearray(3)
    with pytest.raises(ValueError, match="needs 5 bytes, the buffer has 3"):
        msgpack.pack_into([1, 2, 3, 4], target)
    with pytest.raises(TypeError):
        msgpack.pack_into([1, Foreign()], target)
    assert target == bytes(3)


class Items(dict):  # type: ignore[type-arg]
    """A dict whose items() is Python code, and wrong."""

    def __init__(self, answer: Any) -> None:
        super().__init__(a=1, b=2)
        self.answer = answer

    def items(self) -> Any:
        return self.answer


@pytest.mark.parametrize("answer", [[("a", 1)], [("a", 1), ("b", 2), ("c", 3)], [1, 2], [("a",), ("b",)], 5, None])
def test_items_that_lie(msgpack: ModuleType, answer: Any) -> None:
    """A subclass may give other pairs than it has: an error, or a map whose header counts what follows."""
    try:
        packed = msgpack.packb(Items(answer))
    except (RuntimeError, TypeError, ValueError, AttributeError):
        return
    assert isinstance(msgpack.unpackb(packed), dict)


# --- unpacking ----------------------------------------------------------------------------------------------------

HOOKS = ["object_hook", "object_pairs_hook", "list_hook", "ext_hook"]
PACKED = b"\x93\x81\xa1a\x01\x92\x01\x02\xd4\x05x"  # [{"a": 1}, [1, 2], ExtType(5, b"x")]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize(
    ("method", "arguments"),
    [("unpack", ()), ("skip", ()), ("feed", (b"\x01",)), ("read_bytes", (1,)), ("unpack_raw", ()),
     ("read_array_header", ()), ("__next__", ()), ("__init__", ())],
)  # fmt: skip
def test_hooks_that_call_back(msgpack: ModuleType, hook: str, method: str, arguments: Any) -> None:
    """An Unpacker that is unpacking refuses every call but tell(), without harm to what it unpacks."""
    told = []

    def call(*_: Any) -> Any:
        told.append(stream.tell())
        return getattr(stream, method)(*arguments)

    def call_and_go_on(*_: Any) -> str:
        with pytest.raises(RuntimeError, match=refusal):
            call()
        return "ok"

    name = "unpack" if method == "__next__" else method
    refusal = rf"^Unpacker\.{name}\(\) cannot be called while unpacking is in progress$"
    stream = msgpack.Unpacker(**{hook: call})
    stream.feed(PACKED + b"\x07")
    with pytest.raises(RuntimeError, match=refusal):
        stream.unpack()
    assert told
    stream = msgpack.Unpacker(**{hook: call_and_go_on})
    stream.feed(PACKED + b"\x07")
    assert stream.unpack() == msgpack.unpackb(PACKED, **{hook: lambda *_: "ok"})
    assert stream.unpack() == 7


@pytest.mark.parametrize("hook", HOOKS)
def test_hooks_that_raise(msgpack: ModuleType, hook: str) -> None:
    """A hook's exception passes untouched, and nothing of the message stays behind."""

    def fail(*_: Any) -> Any:
        raise Boom

    for _ in range(3):
        with pytest.raises(Boom) as caught:
            msgpack.unpackb(PACKED, **{hook: fail})
        assert not hasattr(caught.value, "offset")


@pytest.mark.parametrize("hook", HOOKS)
def test_hooks_that_drop_the_unpacker(msgpack: ModuleType, hook: str) -> None:
    """The last reference to the Unpacker goes while it unpacks."""
    holder: list[Any] = []

    def drop(*_: Any) -> Any:
        holder.clear()
        gc.collect()
        return "x"

    holder.append(msgpack.Unpacker(io.BytesIO(PACKED), **{hook: drop}))
    assert "x" in str(holder[0].unpack())


def test_hooks_that_change_what_they_get(msgpack: ModuleType) -> None:
    """A hook gets complete objects: it may do with them what it likes."""

    def clear(o: Any) -> Any:
        o.clear()
        return o

    assert msgpack.unpackb(PACKED, list_hook=clear) == []
    assert msgpack.unpackb(PACKED, object_hook=clear)[0] == {}


def test_a_file_that_calls_back(msgpack: ModuleType) -> None:
    """read() of the file is Python code as well."""

    class File:
        def read(self, size: int) -> bytes:
            stream.feed(b"\x01")
            return b"\x01"

    stream = msgpack.Unpacker(File())
    with pytest.raises(RuntimeError, match="in progress"):
        stream.unpack()


def test_a_file_that_answers_wrongly(msgpack: ModuleType) -> None:
    """None is its end; text is a TypeError; more than was asked for counts against the limit."""

    class File:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def read(self, size: int) -> Any:
            return self.answer

    with pytest.raises(msgpack.OutOfData):
        msgpack.Unpacker(File(None)).unpack()
    with pytest.raises(TypeError):
        msgpack.Unpacker(File("text")).unpack()
    with pytest.raises(msgpack.BufferFull):
        msgpack.Unpacker(File(bytes(200)), max_buffer_size=100, read_size=50).unpack()


# --- threads ------------------------------------------------------------------------------------------------------


def test_threads_sharing_an_unpacker(msgpack: ModuleType) -> None:
    """Two threads in one Unpacker: one of them gets an error, and no object is mixed of two."""
    with switching(1e-5):
        stream = msgpack.Unpacker(object_hook=lambda o: (sum(range(50)), o)[1])
        message = {"a": [1, 2, {"b": "c"}]}
        count = 300 if sys.implementation.name == "pypy" else 3000  # each turn that is refused costs PyPy a traceback
        stream.feed(msgpack.packb(message) * count)
        results: list[Any] = []

        def work() -> None:
            while True:
                try:
                    results.append(stream.unpack())
                except msgpack.OutOfData:
                    return
                except RuntimeError as exc:
                    assert "in progress" in str(exc)  # noqa: PT017

        assert run_threads(*[work] * 4) == []
        assert len(results) == count
        assert all(result == message for result in results)


# --- references and the collector ---------------------------------------------------------------------------------


def test_cycles_are_collected(msgpack: ModuleType) -> None:
    """A Packer or Unpacker whose hook refers to it is freed."""

    class Owner:
        def __init__(self) -> None:
            self.packer = msgpack.Packer(default=self.hook)
            self.unpacker = msgpack.Unpacker(object_hook=self.hook)
            self.unpacker.feed(b"\x92\x01")
            assert list(self.unpacker) == []

        def hook(self, o: Any) -> Any:
            return o

    gone = weakref.ref(Owner())
    for _ in range(3):
        gc.collect()
    assert gone() is None


@pytest.mark.skipif(not CPYTHON, reason="the collector is CPython's")
def test_the_collector_is_left_as_it_was(msgpack: ModuleType) -> None:
    """Held off while a message is built, on again whatever happened; code that runs in between finds it on."""
    records = [{"id": i, "tags": ["a", "b"], "pos": [1.5, 2.5]} for i in range(2000)]
    data = msgpack.packb(records)
    seen: list[bool] = []

    class Key:
        def __hash__(self) -> int:
            seen.append(gc.isenabled())
            return 1

    big = msgpack.packb([0] * 20_000)
    assert gc.isenabled()
    assert msgpack.unpackb(data) == records
    assert gc.isenabled()
    for bad, options in (
        (data[:-1], {}), (data + b"\x01", {}), (data[:-2] + b"\xc1", {}), (data, {"max_total_items": 5000}),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            msgpack.unpackb(bad, **options)
        assert gc.isenabled()
    msgpack.unpackb(data, object_hook=lambda o: seen.append(gc.isenabled()))
    msgpack.unpackb(b"\x92" + big + b"\xd4\x05x", ext_hook=lambda code, payload: seen.append(gc.isenabled()))
    keyed = b"\x92" + big + b"\x81\xd4\x05x\x01"
    msgpack.unpackb(keyed, strict_map_key=False, ext_hook=lambda code, payload: Key())
    msgpack.unpackb(b"\x92" + big + b"\x81\xd6\xff\x00\x00\x00\x01\x01", strict_map_key=False)
    msgpack.unpackb(b"\x92" + big + b"\x81\xd4\x05x\x01", strict_map_key=False)
    assert seen
    assert all(seen)
    stream = msgpack.Unpacker()
    for start in range(0, len(data), 5000):
        stream.feed(data[start : start + 5000])
        for _ in stream:
            pass
        assert gc.isenabled()
    gc.disable()
    try:
        assert msgpack.unpackb(data) == records
        assert not gc.isenabled()
    finally:
        gc.enable()


def everything(msgpack: ModuleType, watched: dict[str, Any]) -> None:
    """Call each path once, the errors too."""

    def attempt(function: Any, *args: Any, **options: Any) -> None:
        try:
            function(*args, **options)
        except Exception:
            pass

    foreign, hook, ext, key = (watched[name] for name in ("foreign", "hook", "ext", "key"))
    stamp = msgpack.Timestamp(1, 2)
    o = {key: [None, 1, 2**40, -5, 1.5, "é漢" * 5, b"bin", (1, 2), ext, stamp], "x" * 40: {"a": {}}}
    packed = msgpack.packb(o)
    attempt(msgpack.packb, o, sort_keys=True)
    attempt(msgpack.packb, [o, foreign])
    attempt(msgpack.packb, [o, foreign], default=hook)
    attempt(msgpack.packb, [o, foreign], default=lambda x: [foreign])
    attempt(msgpack.packb, 2**70)
    attempt(msgpack.packb, [o] * 5, max_total_bytes=20)
    attempt(msgpack.packb, o, wrong=hook)
    attempt(msgpack.pack_into, o, bytearray(10))
    attempt(msgpack.pack_into, o, bytearray(1000), 5)
    attempt(msgpack.pack, o, io.BytesIO())
    attempt(msgpack.unpackb, packed)
    attempt(msgpack.unpackb, packed[:-3])
    attempt(msgpack.unpackb, packed + b"\x01")
    attempt(msgpack.unpackb, b"\x92\x81\xa1a\x81\x01\x02\x03")
    attempt(msgpack.unpackb, b"\x81\x91\x01\x02", strict_map_key=False)
    attempt(msgpack.unpackb, b"\x92\x93\x01\x02\xa2\xff\xff\x01")
    attempt(msgpack.unpackb, bytearray(packed), use_list=False, object_pairs_hook=hook, list_hook=hook, ext_hook=hook)
    attempt(msgpack.unpackb, packed, raw=True, bin_view=True, timestamp=3)
    attempt(msgpack.unpackb, packed, raw_depth=1, max_total_items=3)
    attempt(msgpack.unpackb, packed, object_hook=lambda x: 1 / 0)
    attempt(msgpack.unpackb, packed, ext_hook=lambda code, data: 1 / 0)
    attempt(msgpack.unpackb_from, b"\xc0" + packed, 1)
    attempt(msgpack.unpackb_from, packed, 10**6)
    attempt(msgpack.unpack, io.BytesIO(packed))
    packer = msgpack.Packer(default=hook, autoreset=False)
    packer.pack(o)
    attempt(packer.pack, foreign)
    attempt(packer.pack_map_pairs, [(key, foreign)])
    attempt(packer.pack_map_pairs, [1])
    packer.pack_ext_type(1, b"x")
    bytes(packer.getbuffer())
    stream = msgpack.Unpacker(object_hook=hook, ext_hook=hook)
    for start in range(0, len(packed), 16):
        stream.feed(packed[start : start + 16])
        attempt(stream.unpack)
    stream.feed(packed[:-9])
    attempt(stream.unpack)
    attempt(stream.skip)
    attempt(stream.__init__, foreign)
    raw = msgpack.Unpacker(io.BytesIO(packed * 2))
    attempt(raw.unpack_raw)
    attempt(raw.skip)
    attempt(raw.read_map_header)


def balance(msgpack: ModuleType, rounds: int) -> None:
    watched: dict[str, Any] = {
        "foreign": Foreign(),
        "hook": lambda *args: None,
        "ext": msgpack.ExtType(5, b"payload"),
        "key": "a key of some length",
    }
    more = [None, True, 1, (), msgpack.ExtType, msgpack.Timestamp, msgpack.Raw, msgpack.LimitError]
    for _ in range(20):
        everything(msgpack, watched)
    gc.collect()
    objects = [*watched.values(), *more]
    before = [sys.getrefcount(o) for o in objects]
    blocks = sys.getallocatedblocks()
    for _ in range(rounds):
        everything(msgpack, watched)
    gc.collect()
    for o, count in zip(objects, before):
        # None and its like are used all over the interpreter, which may move a few
        assert abs(sys.getrefcount(o) - count) < 50, o
    assert sys.getallocatedblocks() - blocks < rounds // 2 + 25


@pytest.mark.skipif(not CPYTHON, reason="counts references")
def test_references_balance(msgpack: ModuleType) -> None:
    """Many calls of each path leave nothing behind."""
    balance(msgpack, 50 if msgpack.BACKEND == "pure" else 300)


@pytest.mark.nightly
@pytest.mark.skipif("native" not in available("msgpack") or not CPYTHON, reason="counts the native code's references")
def test_references_balance_over_a_million_calls() -> None:
    """The same for about a million calls in all."""
    balance(available("msgpack")["native"], 25_000)
