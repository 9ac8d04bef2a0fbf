# SPDX-License-Identifier: Apache-2.0
"""Arrays of numpy and of the module `array`: every backend packs and reads them alike, also as lists of numbers."""

from __future__ import annotations

import array
import ctypes
import itertools
import math
import signal
import struct
import sys
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest
from any_codecs import PURE, check_like_pure, codecs_of, decode, encode
from msgpack_oracle import outcome
from processes import run_alone

import purepy.msgpack
from cpkg import typed
from cpkg.objects.arrays import ARRAY_OF_NUMPY, ARRAY_OF_PYTHON, array_head
from cpkg.objects.types_written import ARRAY
from cpkg.typed import codecs as typed_codecs
from purepy.base.errors import FormatError, LimitError
from purepy.msgpack.ext import ExtType

NATIVE = "<" if sys.byteorder == "little" else ">"
PYTHON_ARRAYS = [
    *(array.array(code, [0, 1, 100, 127, 1]) for code in "bBhHiIlLqQfd"),
    *(array.array(code) for code in "bd"),
    array.array("q", [-(2**63), -(2**31) - 1, -32769, -129, -33, -32, -1, 0, 127, 128, 2**16, 2**32, 2**63 - 1]),
    array.array("Q", [2**64 - 1, 2**32 - 1, 2**16 - 1, 255]),
    array.array("d", [math.nan, -0.0, math.inf, 1e-320, *struct.unpack("=d", struct.pack("=Q", 0xFFF4000000000001))]),
    array.array("f", bytes.fromhex("010080ff 0100a07f 0000807f")),
    array.array("h", range(20000)),
    array.array("q", [n * n % 2**31 for n in range(90_000)]),  # as a list, longer than the memory of most messages
    array.array("f", [0.5]) * 70000,
]


def numpy_arrays(np: Any) -> list[Any]:
    """Return arrays of every dtype, layout and byte order."""
    shapes = [np.arange(24).reshape(2, 3, 4), np.arange(5)[::-2], np.zeros((2, 0, 3)), np.array(7), np.arange(130)]
    kinds = ["?", *"bBhHiIqQefdFD", "M8[s]", "m8[25us]", "M8"]
    arrays = [shape.astype(kind) for shape in shapes for kind in kinds]
    turned = [given.astype(given.dtype.newbyteorder(">")) for given in arrays]
    grid = np.arange(60000.0).reshape(200, 300)
    layouts = [grid.T, grid[::-1, ::7], np.asfortranarray(grid), np.broadcast_to(np.float32(2), (3, 4)), grid[:0]]
    odd = np.frombuffer(bytes(range(33)), "u1")[1:].view("<u4")  # not aligned
    values = np.frombuffer(struct.pack("<4Q", 0x7FF0000000000001, 2**63, 2**64 - 1, 0x7FF8000000000123), "<f8")
    extremes = [np.frombuffer(struct.pack("<2I", 0x7F800001, 0xFFC00123), "<f4"), values, values.view("<i8"), odd]
    memory = np.arange(5, dtype="f4").view(np.memmap)
    many = np.zeros((1,) * 30, "u1")
    masked = np.ma.array([1.5, 2.5], mask=[True, False])
    plain = [np.array(["a", "bc"]), np.array([b"a"]), np.array([1, None, {2}], object), np.zeros(2, "g"), masked]
    return [*arrays, *turned, *layouts, *extremes, memory, many, *plain, np.zeros(2, "u1").view("?"), np.eye(2) > 0]


def packed_by_all(codecs: Any, values: list[Any]) -> None:
    """Check that a backend packs and loads values like the pure one."""
    for value in values:
        for obj in (value, [value, 1], {"b": value, "a": [value]}):
            for options in ({}, {"sort_keys": True, "default": repr}):
                check_like_pure(codecs, encode, obj, compress=False, **options)
        message = encode(PURE, [value, 1], compress=False)
        ours, pure = decode(codecs, message), decode(PURE, message)
        assert form_of(ours[0]) == form_of(pure[0]), value


def form_of(obj: Any) -> Any:
    """Return everything that identifies an array."""
    if type(obj) is array.array:
        return obj.typecode, obj.tobytes()
    if not hasattr(obj, "dtype"):
        return repr(obj)
    return type(obj), obj.dtype.str, obj.shape, obj.strides, obj.tobytes(), obj.flags.writeable, obj.flags.aligned


def test_arrays_of_python(msgpack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_codecs, "msgpack_module", lambda: msgpack)
    codecs = codecs_of(msgpack)
    packed_by_all(codecs, [*PYTHON_ARRAYS, type("Numbers", (array.array,), {})("i", [1])])
    for value in PYTHON_ARRAYS:
        assert typed.Encoder().encode([value]) == encode(PURE, [value], compress=False)
        back = decode(codecs, encode(codecs, value))
        assert type(back) is array.array
        assert (back.tobytes(), back.itemsize) == (value.tobytes(), value.itemsize)


def test_arrays_of_numpy(msgpack: ModuleType) -> None:
    np = pytest.importorskip("numpy")
    codecs, arrays = codecs_of(msgpack), numpy_arrays(np)
    packed_by_all(codecs, arrays)
    for value in arrays:
        back = decode(codecs, encode(codecs, value))
        if value.dtype.kind in "USO":
            continue
        if type(value) in (np.ndarray, np.memmap) and value.dtype != np.longdouble:
            assert type(back) is np.ndarray
            assert (back.dtype, back.shape, back.tobytes()) == (value.dtype, value.shape, value.tobytes())
            assert back.flags.c_contiguous
            assert not back.flags.writeable


def test_arrays_as_lists(msgpack: ModuleType) -> None:
    np = pytest.importorskip("numpy")
    options: list[dict[str, Any]] = [{}, {"strict_types": True, "default": str}, {"use_single_float": True}]
    options += [{"max_depth": depth} for depth in (0, 1, 2)] + [{"max_total_items": 20}, {"max_total_bytes": 40}]
    for value in [*PYTHON_ARRAYS, *numpy_arrays(np), array.array("i", [3]), np.float32(1.5), np.int8(-40), np.bool_(1)]:
        for given in options:
            ours, pure = (outcome(each.packb, [value], numpy=True, **given) for each in (msgpack, purepy.msgpack))
            if "max_total_bytes" not in given:
                assert ours == pure, (value, given)
            else:  # how much is written before the limit is checked may differ, not whether it is exceeded
                assert (ours == pure) or (ours[0] is LimitError) == (pure[0] is LimitError)
        assert outcome(msgpack.packb, value) == outcome(purepy.msgpack.packb, value)


def test_the_bytes_of_lists(msgpack: ModuleType) -> None:
    """Single-precision floats stay single; all other items are packed like plain numbers."""
    for value in PYTHON_ARRAYS:
        expected = msgpack.packb(value.tolist())
        if value.typecode == "f":
            head = msgpack.packb([None] * len(value))[: -len(value)]
            expected = head + b"".join(struct.pack(">BI", 0xCA, *bits) for bits in struct.iter_unpack("=I", value))
        assert msgpack.packb(value, numpy=True) == expected
    packer = msgpack.Packer(numpy=True)
    assert packer.pack(array.array("f", [1.5])) == b"\x91\xca\x3f\xc0\0\0"
    pytest.raises(TypeError, msgpack.packb, array.array("i", [1]))


def test_the_layout_is_what_files_hold(msgpack: ModuleType) -> None:
    codecs = codecs_of(msgpack)
    head = b"\x01\xa3" + NATIVE.encode() + b"i2\x91\x02" + bytes(3)
    data = struct.pack("=2h", 1, -2)
    assert encode(codecs, array.array("h", [1, -2])) == b"\xc7\x0eA" + head + data
    for kind, shape in itertools.product((ARRAY_OF_NUMPY, ARRAY_OF_PYTHON), ((), (1,), (3, 2**16, 2**33), (1,) * 64)):
        assert len(array_head(kind, "<c16", shape)) % 8 == 2
    long = encode(codecs, array.array("d", [0.5]) * 10**4, compress=False)
    assert long.index(struct.pack("=d", 0.5)) % 8 == 0


@pytest.mark.parametrize("order", "<>")
def test_the_other_byte_order(msgpack: ModuleType, order: str) -> None:
    head = array_head(ARRAY_OF_PYTHON, f"{order}u4", (2,))
    message = msgpack.packb(ExtType(ARRAY, head + struct.pack(f"{order}2I", 1, 2**31)))
    assert decode(codecs_of(msgpack), message) == array.array("I", [1, 2**31])


# payloads as Python, which uses array_head(kind, dtype, shape)
REFUSED = eval(f"[{Path(__file__).with_name('refused_arrays.txt').read_text(encoding='utf-8')}]")


def test_objects_other_than_arrays_are_refused(msgpack: ModuleType) -> None:
    codecs = codecs_of(msgpack)
    for payload in REFUSED:
        message = msgpack.packb(["x", ExtType(ARRAY, payload)])
        error, _, offset = check_like_pure(codecs, decode, message)
        assert issubclass(error, FormatError), payload
        assert offset == 3, payload
    whole = array_head(ARRAY_OF_PYTHON, "<i2", (2,)) + bytes(4)
    for place, byte in itertools.product(range(len(whole)), (0, 0x7F, 0x90, 0xCF, 0xFF)):
        damaged = bytearray(whole)
        damaged[place] = byte
        check_like_pure(codecs, decode, msgpack.packb(ExtType(ARRAY, bytes(damaged))))


def test_limits_count_the_items(msgpack: ModuleType) -> None:
    codecs = codecs_of(msgpack)
    message = encode(codecs, [array.array("d", [0.5]) * 1000], compress=False)
    assert decode(codecs, message, max_memory=9000)[0][999] == 0.5
    for options in ({"max_memory": 8000}, {"max_output_size": 8000}):
        pytest.raises(LimitError, decode, codecs, message, **options)


def test_refused_arrays_are_named(msgpack: ModuleType) -> None:
    codecs = codecs_of(msgpack)
    text = array.array("u" if sys.version_info < (3, 13) else "w", "ab")
    pytest.raises(TypeError, encode, codecs, text).match(r"type 'array' with items of type '[uw]'")
    assert decode(codecs, encode(codecs, text, default=lambda given: given.tounicode())) == "ab"
    np = pytest.importorskip("numpy")
    with pytest.raises(TypeError, match=r"type 'ndarray' with items of type .*'<i4'"):
        encode(codecs, np.zeros(2, "<i4,<i4"))


def test_views_and_copies(msgpack: ModuleType) -> None:
    """Large aligned arrays are views of the message; small ones are copies."""
    np = pytest.importorskip("numpy")
    codecs = codecs_of(msgpack)
    message = encode(codecs, np.arange(10000.0), compress=False)
    if sys.implementation.name == "cpython":  # on PyPy, numpy has another base
        assert decode(codecs, message).base is message
    small = encode(codecs, np.arange(10.0), compress=False)
    assert decode(codecs, small).base is not small
    for shift in range(8):
        nested = encode(codecs, ["x" * shift, np.arange(10000.0)], compress=False)
        back = decode(codecs, nested)[1]
        assert back.flags.aligned
        assert np.array_equal(back, np.arange(10000.0))
    given = bytearray(message)
    for buffer in (given, memoryview(given)):
        back = decode(codecs, buffer)
        assert np.array_equal(back, np.arange(10000.0))
    given[-1] ^= 1
    assert back[-1] == 9999
    del buffer
    given.append(0)  # works, because no buffer is exported any more
    assert np.array_equal(decode(codecs, message, ext_hook=ExtType), back)


def test_without_numpy(msgpack: ModuleType) -> None:
    program = Path(__file__).with_name("without_numpy.txt").read_text(encoding="utf-8")
    done = run_alone(msgpack, "msgpack", program)
    assert done.returncode == 0, done.stderr


def test_buffers_are_released_and_nothing_is_kept(msgpack: ModuleType) -> None:
    codecs = codecs_of(msgpack)
    value = array.array("d", [0.5] * 9)
    calls = [
        lambda: encode(codecs, [value, value]),
        lambda: encode(codecs, [value, 1j]),
        lambda: msgpack.packb([value], numpy=True),
        lambda: msgpack.packb([value], numpy=True, max_depth=1),
        lambda: msgpack.packb([value], numpy=True, max_total_items=3),
        lambda: msgpack.packb([value], numpy=True, max_total_bytes=3),
        lambda: msgpack.packb(array.array("d", [1e300]), numpy=True, use_single_float=True),
    ]
    for call in calls:
        outcome(call)
        value.append(0.5)
        if sys.implementation.name == "cpython":
            before = sys.getrefcount(value)
            outcome(call)
            assert sys.getrefcount(value) == before


@pytest.mark.parametrize("form", ["lists", "extension", "set"])
def test_signal_handlers_run_in_long_arrays_and_sets(msgpack: ModuleType, form: str) -> None:
    """The handler runs before the code of the next object."""
    if not hasattr(msgpack, "typed_packb") or msgpack.typed_packb is None:
        pytest.skip("Python code runs handlers by itself")
    seen = []

    class Interrupting:
        _as_parameter_ = 0

    class Late:
        @property
        def _as_parameter_(self) -> int:
            return 0

    def handler(_: int, frame: FrameType | None) -> None:
        assert frame is not None
        seen.append(frame.f_code.co_name)
        raise KeyboardInterrupt

    interrupt = ctypes.pythonapi.PyErr_SetInterrupt  # in C, so that no Python code runs after it

    def packed(obj: object) -> Any:
        if form == "lists":
            return msgpack.packb(obj, default=interrupt, numpy=True)
        return msgpack.typed_packb(obj, interrupt, 9, None, None)

    numbers = array.array("b", bytes(3 << 20))
    items = set(range(40000)) if form == "set" else numbers
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            packed([Interrupting(), items, Late()])
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == ["packed"]
    numbers.append(1)
