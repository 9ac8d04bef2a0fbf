# SPDX-License-Identifier: Apache-2.0
"""Hooks that call back, raise, change the object being packed or delete their Packer; references and the collector."""

from __future__ import annotations

import gc
import io
import sys
import sysconfig
import weakref
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgpack_messages import fed

CPYTHON = sys.implementation.name == "cpython"
CALLS = [
    compile(call, "references.txt", "eval")
    for call in Path(__file__).with_name("references.txt").read_text().splitlines()
]
"""Calls that keep no reference to their arguments, whether they succeed or not."""


class Foreign:
    """An object that cannot be packed without `default`."""


class Boom(ValueError):
    """An exception that a hook raises, of the type that codecs raise for invalid input."""


# --- packing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["grow", "grow again", "shrink", "clear"])
@pytest.mark.parametrize("place", ["item", "key", "value"])
def test_a_container_changed_by_default(msgpack: ModuleType, change: str, place: str) -> None:
    """If a list or dict changes its size while it is packed, packing fails instead of writing a wrong header."""
    items: list[Any] = [1, Foreign(), 2]
    foreign: dict[Any, Any] = {Foreign(): 2} if place == "key" else {"foreign": Foreign()}
    pairs: dict[Any, Any] = {"a": 1, **foreign, **{f"k{i}": [i] for i in range(20)}}

    def default(o: Any) -> Any:
        new = [Foreign()] if change == "grow again" else 3
        if "grow" in change:
            items.append(new)
            pairs.update(dict.fromkeys(range(100), new))
        elif change == "shrink":
            items.pop()
            pairs.popitem()
        else:
            items.clear()
            pairs.clear()
        return "x"

    text = "list changed size during packing" if place == "item" else "dictionary changed size during"
    with pytest.raises(RuntimeError, match=text):
        msgpack.packb(items if place == "item" else pairs, default=default)


@pytest.mark.parametrize(
    "call",
    ["pack(1)", "pack_array_header(1)", "pack_map_header(1)", "pack_map_pairs([])", "pack_ext_type(1, b'x')", "reset()",
     "bytes()", "getbuffer()", "__init__()"],
)  # fmt: skip
def test_default_that_packs_with_the_same_packer(msgpack: ModuleType, call: str) -> None:
    """A Packer refuses calls of its methods while it packs; afterwards it works again."""
    refusal = rf"^Packer\.{call.partition('(')[0]}\(\) cannot be called while packing is in progress$"

    def default(o: Any) -> Any:
        return eval(f"packer.{call}", {"packer": packer})

    def default_that_goes_on(o: Any) -> str:
        with pytest.raises(RuntimeError, match=refusal):
            default(o)
        return "ok"

    packer = msgpack.Packer(default=default, autoreset=False)
    with pytest.raises(RuntimeError, match=refusal):
        packer.pack([1, Foreign()])
    assert packer.bytes() == b""
    packer.pack([1])
    assert packer.bytes() == b"\x91\x01"
    packer = msgpack.Packer(default=default_that_goes_on)
    assert packer.pack([Foreign()]) == b"\x91\xa2ok"


def test_default_that_packs_with_functions(msgpack: ModuleType) -> None:
    """A hook may pack other objects with functions, as deep as the interpreter allows."""
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


# --- unpacking ----------------------------------------------------------------------------------------------------

HOOKS = ["object_hook", "object_pairs_hook", "list_hook", "ext_hook"]
PACKED = b"\x93\x81\xa1a\x01\x92\x01\x02\xd4\x05x"  # [{"a": 1}, [1, 2], ExtType(5, b"x")]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize(
    "call",
    ["unpack()", "skip()", "feed(b'1')", "read_bytes(1)", "unpack_raw()", "read_array_header()", "__next__()",
     "__init__()"],
)  # fmt: skip
def test_hooks_that_call_back(msgpack: ModuleType, hook: str, call: str) -> None:
    """An Unpacker that is unpacking refuses every call except tell(), and then completes its object."""
    name = call.partition("(")[0].replace("__next__", "unpack")
    refusal = rf"^Unpacker\.{name}\(\) cannot be called while unpacking is in progress$"
    told = []

    def call_back(*_: Any) -> Any:
        told.append(stream.tell())
        return eval(f"stream.{call}", {"stream": stream})

    def call_and_go_on(*_: Any) -> str:
        with pytest.raises(RuntimeError, match=refusal):
            call_back()
        return "ok"

    stream = msgpack.Unpacker(**{hook: call_back})
    stream.feed(PACKED + b"\x07")
    with pytest.raises(RuntimeError, match=refusal):
        stream.unpack()
    assert told
    stream = msgpack.Unpacker(**{hook: call_and_go_on})
    stream.feed(PACKED + b"\x07")
    assert stream.unpack() == msgpack.unpackb(PACKED, **{hook: lambda *_: "ok"})
    assert stream.unpack() == 7


@pytest.mark.parametrize("hook", ["default", *HOOKS])
def test_hooks_that_raise(msgpack: ModuleType, hook: str) -> None:
    """A hook's exception passes unchanged, and the Packer can still be used."""

    def fail(*arguments: Any) -> Any:
        raise Boom(arguments)

    packer, foreign = msgpack.Packer(default=fail), Foreign()
    for _ in range(3):
        with pytest.raises(Boom) as caught:
            packer.pack({"a": [1, foreign]}) if hook == "default" else msgpack.unpackb(PACKED, **{hook: fail})
        assert not hasattr(caught.value, "offset")
        assert hook != "default" or caught.value.args == ((foreign,),)
    assert packer.pack([1]) == b"\x91\x01"


@pytest.mark.parametrize("hook", ["default", *HOOKS])
def test_hooks_that_drop_their_codec(msgpack: ModuleType, hook: str) -> None:
    """The last reference to the Packer or Unpacker is deleted while it works."""
    holder: list[Any] = []

    def drop(*_: Any) -> Any:
        holder.clear()
        gc.collect()
        return "x" * 100

    if hook == "default":
        holder.append(msgpack.Packer(default=drop))
        assert len(holder[0].pack([Foreign(), Foreign()])) == 205
    else:
        holder.append(msgpack.Unpacker(io.BytesIO(PACKED), **{hook: drop}))
        assert "x" * 100 in str(holder[0].unpack())


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_tell_in_a_hook(msgpack: ModuleType, hook: str, size: int) -> None:
    """tell() returns the position before the call that runs the hook, as in msgpack; the same in read() of the file."""
    data = msgpack.packb([1, {"a": [1, 2], "b": msgpack.ExtType(5, b"abc")}]) + msgpack.packb(
        {"c": [msgpack.ExtType(6, b"")]}
    )
    found, expected = [], []

    def seen(first: Any, *more: Any) -> Any:
        found.append(unpacker.tell())

    unpacker = msgpack.Unpacker(**{hook: seen})
    for start in range(0, len(data), size):
        before = unpacker.tell()
        unpacker.feed(data[start : start + size])
        for _ in unpacker:
            expected += [before] * (len(found) - len(expected))
            before = unpacker.tell()
        expected += [before] * (len(found) - len(expected))
    assert found
    assert found == expected

    class File(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            told.append(unpacker.tell())
            return super().read(size)

    told: list[int] = []
    unpacker = msgpack.Unpacker(File(data), read_size=4)
    assert len(list(unpacker)) == 2
    assert (told[0], told[-1]) == (0, len(data))
    assert told == sorted(told)


# --- references and the collector ---------------------------------------------------------------------------------


def test_cycles_are_collected(msgpack: ModuleType) -> None:
    """A Packer or Unpacker that its own hook refers to is freed."""

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
    """The collector is off while a message is built; hooks find it on, and it is on again after success and failure."""
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
        fed(stream, data[start : start + 5000], 5000)
        assert gc.isenabled()
    gc.disable()
    try:
        assert msgpack.unpackb(data) == records
        assert not gc.isenabled()
    finally:
        gc.enable()


def everything(msgpack: ModuleType, watched: dict[str, Any]) -> None:
    """Run each path once, including the errors."""
    o = {watched["key"]: [None, 1, 2**40, -5, 1.5, "é漢" * 5, b"bin", (1, 2), watched["ext"], msgpack.Timestamp(1, 2)]}
    o["x" * 40] = {"a": {}}
    packed = msgpack.packb(o)
    packer = msgpack.Packer(default=watched["hook"], autoreset=False)
    packer.pack(o)
    packer.pack_ext_type(1, b"x")
    bytes(packer.getbuffer())
    stream = msgpack.Unpacker(object_hook=watched["hook"], ext_hook=watched["hook"])
    for start in range(0, len(packed), 16):
        stream.feed(packed[start : start + 16])
        with suppress(msgpack.OutOfData):
            stream.unpack()
    stream.feed(packed[:-9])
    raw = msgpack.Unpacker(io.BytesIO(packed * 2))
    names = {**globals(), **watched, **locals()}
    for call in CALLS:
        with suppress(Exception):
            eval(call, names)


@pytest.mark.skipif(not CPYTHON, reason="counts references")
@pytest.mark.parametrize("rounds", [60, pytest.param(25_000, marks=pytest.mark.nightly)])
def test_references_balance(msgpack: ModuleType, rounds: int) -> None:
    """Many calls of each path (about a million at night) keep no reference."""
    watched: dict[str, Any] = {
        "foreign": Foreign(),
        "hook": lambda *args: None,
        "ext": msgpack.ExtType(5, b"payload"),
        "key": "a key of some length",
    }
    more = [None, True, 1, ()]
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # otherwise each thread counts separately
        more += [msgpack.ExtType, msgpack.Timestamp, msgpack.Raw, msgpack.LimitError]
    for _ in range(max(20, rounds)):  # without the GIL, a thread's own bytecode needs some calls to settle
        everything(msgpack, watched)
    gc.collect()
    objects = [*watched.values(), *more]
    before = [sys.getrefcount(o) for o in objects]
    blocks = sys.getallocatedblocks()
    for _ in range(rounds):
        everything(msgpack, watched)
    gc.collect()
    for o, count in zip(objects, before):
        # the interpreter itself uses None and similar objects, so their counts may change slightly
        assert abs(sys.getrefcount(o) - count) < 50, o
    assert sys.getallocatedblocks() - blocks < rounds // 2 + 25
