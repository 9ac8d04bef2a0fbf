# SPDX-License-Identifier: Apache-2.0
"""Map keys that nest deeply, have no hash or collide: an error, even on the smallest stack, on every backend."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest
from bombs import on_one_way
from msgpack_messages import fed
from processes import run_alone

import cpkg
from purepy.base.errors import StackError
from purepy.msgpack.key_meter import KeyMeters

DEEPEST = 32


def nested_key(depth: int) -> bytes:
    """Return a map whose key is an int inside of nested arrays."""
    return b"\x81" + b"\x91" * depth + b"\x01\x02"


def nested_tuple(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = (value,)
    return value


@pytest.mark.parametrize("options", [{"tuple_keys": True}, {"use_list": False}], ids=["tuple_keys", "use_list"])
def test_a_key_nests_to_its_limit(msgpack: ModuleType, options: dict[str, bool]) -> None:
    options = {**options, "strict_map_key": False}
    deepest, deeper = nested_key(DEEPEST), nested_key(DEEPEST + 1)
    assert msgpack.unpackb(deepest, **options) == {nested_tuple(DEEPEST): 2}
    around = b"\x91" * 500
    assert msgpack.unpackb_from(around + deepest, 500, **options)[0] == {nested_tuple(DEEPEST): 2}
    for data, offset in ((deeper, DEEPEST + 1), (around + deeper, 500 + DEEPEST + 1)):
        with pytest.raises(StackError, match=r"^map key nested deeper than 32") as caught:
            msgpack.unpackb(data, **options)
        assert caught.value.offset == offset
        unpacker = msgpack.Unpacker(**options)
        with pytest.raises(StackError, match=r"^map key nested deeper than 32") as caught:
            fed(unpacker, data, 1)
        assert caught.value.offset == unpacker.tell() == offset


def test_packing_does_not_count_the_levels_of_keys(msgpack: ModuleType) -> None:
    """Packing allows deeper keys than unpacking, because other readers may accept them."""
    packed = msgpack.packb({nested_tuple(DEEPEST + 1): 2})
    assert packed == nested_key(DEEPEST + 1)
    with pytest.raises(StackError):
        msgpack.unpackb(packed, strict_map_key=False, use_list=False)


def test_the_limit_is_that_of_each_key(msgpack: ModuleType) -> None:
    """Containers after a key, or in another key, do not count."""
    key = b"\x91" * DEEPEST + b"\x01"
    twice = b"\x82" + key + b"\x91" * 100 + b"\x02" + b"\x91" + key + b"\x02"
    with pytest.raises(StackError):
        msgpack.unpackb(twice, strict_map_key=False, tuple_keys=True)
    shallow = b"\x82" + key + b"\x91" * 100 + b"\x02" + b"\x91\x03" + b"\x81" + key + b"\x02"
    back = msgpack.unpackb(shallow, strict_map_key=False, tuple_keys=True)
    assert list(back) == [nested_tuple(DEEPEST), (3,)]
    assert back[(3,)] == {nested_tuple(DEEPEST): 2}


@pytest.mark.parametrize("size", [64, 96, 256])
def test_deep_keys_on_a_small_stack(msgpack: ModuleType, size: int) -> None:
    """Hashing and comparing keys recurses, here for equal keys below and above the limit."""
    settings = f"DEPTHS = {DEEPEST, DEEPEST + 1, 1023}\nSIZE = {size * 1024}\n"
    program = Path(__file__).with_name("small_stack.txt").read_text(encoding="utf-8")
    done = run_alone(msgpack, "codec", settings + program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str([1, 1, *["too deep"] * 5])


class Failing:
    def __hash__(self) -> NoReturn:
        raise ZeroDivisionError("mine")


@pytest.mark.parametrize("key", [b"\xd4\x05a", b"\x91\xd4\x05a"], ids=bytes.hex)
def test_errors_of_a_hash_reach_the_caller(msgpack: ModuleType, key: bytes) -> None:
    options = {"strict_map_key": False, "tuple_keys": True, "ext_hook": lambda code, data: Failing()}
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        msgpack.unpackb(b"\x92\x01\x81" + key + b"\x01", **options)
    assert not hasattr(caught.value, "offset")


# --- keys whose hashes collide on purpose --------------------------------------------------------------------------

PRIME = sys.hash_info.modulus
"""Numbers that differ by multiples of it have the same hash."""


def map_of(keys: list[bytes]) -> bytes:
    return b"\xdf" + len(keys).to_bytes(4, "big") + b"".join(key + b"\x01" for key in keys)


@pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy probes in another order, which needs other keys")
def test_ints_that_collide_are_refused(msgpack: ModuleType) -> None:
    """
    64-bit ints rarely have equal hashes, but can be chosen so that a dict probes the same places for all of them.

    No table is kept for ints close to each other; it is created when another key comes.
    """
    for first in ([], [*range(3, 1000)], ["text", *range(3, 1000)], [2**61 - 2, 2**61 - 1]):
        message = map_of([msgpack.packb(key) for key in [*first, *on_one_way(20_000)]])
        with pytest.raises(msgpack.LimitError, match="with colliding hashes") as info:
            msgpack.unpackb(message, strict_map_key=False)
        assert info.value.offset > 0


def test_numbers_in_small_maps_are_not_counted(msgpack: ModuleType) -> None:
    keys = on_one_way(510)
    message = b"\xdc\x00\xc8" + map_of([msgpack.packb(key) for key in keys]) * 200
    assert msgpack.unpackb(message, strict_map_key=False) == [dict.fromkeys(keys, 1)] * 200


@pytest.mark.parametrize(
    "keys",
    [range(10_000), range(5, 600), range(0, 1000, 2), [1, 1, 2], range(9, 0, -1), [0, 7, 8], [2**61 - 9, 2**61]],
    ids=str,
)
def test_counting_ints_at_once_or_one_by_one_is_the_same(keys: Sequence[int]) -> None:
    at_once, meters, node = KeyMeters(), KeyMeters(), {}
    for key in keys:
        assert meters.add(0, node, key)
        node[key] = 1
    is_apart = at_once.add_apart([*keys])
    assert is_apart or meters.meters[0].tags or sys.implementation.name == "pypy"  # PyPy has larger tables
    if is_apart:
        assert not meters.probes
        assert not meters.meters[0].tags
        assert len(node) < len(keys) or at_once.allowed == meters.allowed


@pytest.mark.parametrize("code", ["N", "U"])
def test_keys_of_one_hash_are_refused(code: str) -> None:
    """Keys with equal hashes (Decimals and UUIDs of `cpkg.loads`): thousands in one map, or dozens in many maps."""
    numbers = [number * PRIME + 1 for number in range(2000)]
    if code == "U":
        keys = [b"\xd8U" + number.to_bytes(16, "big") for number in numbers]
    else:
        keys = [b"\xc7" + bytes((len(str(number)),)) + b"N" + str(number).encode() for number in numbers]
    assert len(cpkg.loads(map_of(keys[:40]))) == 40
    for message in (map_of(keys), b"\xdc\x03\xe8" + map_of(keys[:40]) * 1000):
        with pytest.raises(cpkg.LimitError, match="with colliding hashes"):
            cpkg.loads(message)


@pytest.mark.parametrize(
    ("count", "step"),
    [*((30_000, 1 << shift) for shift in (0, 8, 16, 24, 32, 39, 43)), (43_690, 3 << 43), (87_381, 3 << 42)],
)
def test_regular_keys_are_allowed(msgpack: ModuleType, count: int, step: int) -> None:
    """Of all harmless keys, multiples of powers of two in full tables collide most."""
    if msgpack.BACKEND == "pure":
        count //= 4  # this size also fills a table
    keys = [number * step for number in range(count)]
    assert list(msgpack.unpackb(map_of([msgpack.packb(key) for key in keys]), strict_map_key=False)) == keys


def test_repeated_keys_are_allowed(msgpack: ModuleType) -> None:
    """A key may be repeated any number of times (the last value wins); a few NaNs and negative pairs may collide."""
    options = {"strict_map_key": False, "tuple_keys": True}
    message = map_of([msgpack.packb(key) for key in [1, 1.0, -3, 2**40] * 5000])
    assert msgpack.unpackb(message, **options) == {1: 1, -3: 1, 2**40: 1}
    nans = [b"\xcb\x7f\xf8" + bytes(5) + bytes((number,)) for number in range(40)]
    assert len(msgpack.unpackb(map_of(nans), **options)) in (1, 40)
    pairs = [(x, y, z) for x in range(-9, 9) for y in range(-9, 9) for z in range(-9, 9)]
    assert list(msgpack.unpackb(map_of([msgpack.packb(pair) for pair in pairs]), **options)) == pairs


@pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy does not report the size of a dict")
def test_the_table_has_the_size_of_the_dicts() -> None:
    """The meter counts the probes of the dict itself, so its table grows at the same sizes as the dict."""
    meters, node, sizes, masks = KeyMeters(), {}, [], []
    for number in range(50_000):
        assert meters.add(0, node, number)
        node[number] = number
        masks.append(meters.meters[0].mask)
        sizes.append(sys.getsizeof(node))
    # dicts of fewer than 6 pairs have a different table
    grown = [n for n in range(6, 50_000) if sizes[n] != sizes[n - 1]]
    assert grown == [n for n in range(6, 50_000) if masks[n] != masks[n - 1]]
