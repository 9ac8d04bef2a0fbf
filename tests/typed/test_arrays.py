# SPDX-License-Identifier: Apache-2.0
"""Arrays of numbers as types, decoded from the extension type of arrays and from lists, and encoded."""

import math
import random
import struct
import sys
from array import array
from dataclasses import dataclass, make_dataclass
from functools import partial
from typing import Any, Generic, List, Optional, Set, Tuple, TypeVar, Union
from unittest.mock import Mock, patch

import annotated_types as at
import pytest
from seeds import SEED
from typing_extensions import Annotated, TypeAliasType

import cpkg
from cpkg import msgpack, typed
from cpkg.typed import arrays, codecs
from cpkg.typed.arrays import Numbers
from cpkg.typed.readers import Mismatch

CODES = "bBhHiIqQfd"
NAMES = dict(
    zip(CODES, ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"))
)
packed = msgpack.packb
ORDER = "<" if sys.byteorder == "little" else ">"


def extension(dtype: str, shape: Tuple[int, ...], items: bytes, kind: int = 0) -> bytes:
    """Return an array in the form that `dumps` writes."""
    head = bytes((kind,)) + packed(dtype) + packed(shape)
    return packed(msgpack.ExtType(ord("A"), head + bytes((2 - len(head)) % 8) + items))


def found(tp: Any, data: bytes, **options: Any) -> object:
    """Return everything that distinguishes the decoded array from others, or the text of the error."""
    try:
        return shown(typed.Decoder(tp, **options).decode(data))
    except typed.ValidationError as exc:
        return str(exc)


def shown(made: Any) -> object:
    if isinstance(made, array):
        return made.typecode, made.tobytes()
    if isinstance(made, memoryview):
        return made.format, made.shape, made.tobytes()
    return str(made.dtype), made.shape, made.tobytes()


@pytest.fixture(params=["functions", "first messages"])
def way(request: Any, monkeypatch: Any) -> None:
    """Decode with compiled functions or, on the pure backend, with the walker."""
    if request.param == "first messages":
        monkeypatch.setattr(codecs, "WALKED", 2**40)


# --- array.array --------------------------------------------------------------------------------------------------

LIMITS = {code: (0, 2**bits - 1) for code, bits in zip("BHIQ", (8, 16, 32, 64))}
LIMITS.update({code: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for code, bits in zip("bhiq", (8, 16, 32, 64))})


@pytest.mark.parametrize("code", CODES)
def test_lists_of_numbers_become_arrays_of_a_type_code(code, way):
    numbers: List[Any] = [0, 1, 127, 128, -1, 300, -300, 70_000, -70_000, 2**33, -(2**33), 2**63 - 1, 2**64 - 1]
    numbers += [1.5, -0.0, math.inf, 3.0e38]
    if code in "fd":
        good = numbers
    else:
        least, most = LIMITS[code]
        good = [least, most, *[number for number in numbers[:13] if least <= number <= most]]
    tp = Annotated[array, code]
    for values in (good, good[:1] * 1000, good * 2000, [], *[[value] for value in good]):
        assert found(tp, packed(values)) == (code, array(code, values).tobytes())
    name = NAMES[code]
    assert found(tp, packed([*good, "x", 1])).startswith(f"$[{len(good)}]: expected {name}, found str (at byte ")
    assert found(tp, packed([good[0], True])).startswith(f"$[1]: expected {name}, found bool")
    assert found(tp, packed([[good[0]]])) == f"$[0]: expected {name}, found array (at byte 1)"
    if code not in "fd":
        assert found(tp, packed([0, 1.0])) == f"$[1]: expected {name}, found float (at byte 2)"
        for beyond, bound in ((most + 1, f"<= {most}"), (least - 1, f">= {least}")):
            if -(2**63) <= beyond < 2**64:
                expected = f"$[20]: expected {name} {bound}, found {beyond} (at byte 23)"
                assert found(tp, packed([0] * 20 + [beyond, 0])) == expected
    if code == "f":
        expected = "$: expected array('f'), found a number outside the range of float32 (at byte 0)"
        assert found(tp, packed([1e39])) == found(tp, packed([1, 1e39])) == expected


def test_without_a_type_code_the_numbers_decide(way):
    for values, code in (
        ([], "d"), ([1, -1], "q"), ([1, 2**63], "Q"), ([1, 0.5], "d"), ([2**63, 0.5], "d"), ([0.5], "d"),
        ([1] * 20 + [2.5] * 20, "d"),
    ):  # fmt: skip
        assert found(array, packed(values)) == (code, array(code, values).tobytes())
    assert found(array, packed([-1, 2**63])) == (
        "$: expected array, found ints that fit neither in int64 nor in uint64 (at byte 0)"
    )
    assert found(array, packed([True])) == "$: expected array, found a list of bool (at byte 0)"
    assert found(array, packed([1, True])) == "$: expected array, found bools and numbers in one list (at byte 0)"


def test_arrays_of_the_extension_type(way):
    items = struct.pack("=3h", 1, -2, 3)
    data = extension(ORDER + "i2", (3,), items, kind=1)
    assert found(array, data) == found(Annotated[array, "h"], data) == ("h", items)
    assert found(Optional[array], data) == ("h", items)
    assert found(memoryview, data) == ("h", (3,), items)
    foreign = extension("<>"[ORDER == "<"] + "i2", (3,), array("h", items)[::1].tobytes(), kind=1)
    swapped = array("h", items)
    swapped.byteswap()
    assert found(array, foreign) == ("h", swapped.tobytes())
    assert (
        found(memoryview, foreign)
        == "$: expected memoryview, found an array of int16 in another byte order (at byte 0)"
    )
    assert found(Annotated[array, "i"], data) == "$: expected array('i'), found an array of int16 (at byte 0)"
    assert found(Annotated[array, "i"], data, strict=False) == ("i", array("i", [1, -2, 3]).tobytes())
    assert found(Annotated[array, "f"], data, strict=False) == ("f", array("f", [1, -2, 3]).tobytes())
    for code in "Ib":  # neither type holds every int16
        assert found(Annotated[array, code], data, strict=False).endswith("found an array of int16 (at byte 0)")
    assert "needs 8 bytes, found 6" in found(array, extension(ORDER + "i2", (4,), items, kind=1))
    assert found(array, packed("x")) == "$: expected array, found str (at byte 0)"
    assert found(array, packed(msgpack.ExtType(1, b""))) == "$: expected array, found ext 1 (at byte 0)"


def test_views_of_arrays_and_of_bytes(way):
    assert found(memoryview, packed(b"ab")) == ("B", (2,), b"ab")
    items = struct.pack("=6d", *range(6))
    assert found(memoryview, extension(ORDER + "f8", (2, 3), items)) == ("d", (2, 3), items)
    assert found(memoryview, extension(ORDER + "f8", (0,), b"")) == ("d", (0,), b"")
    assert found(memoryview, extension(ORDER + "f2", (1,), b"ab")).endswith("found an array of float16 (at byte 0)")
    assert typed.decode(extension("|u1", (9000,), bytes(9000)), memoryview).readonly
    assert found(Union[memoryview, str], extension("|b1", (2,), b"\0\1")) == ("?", (2,), b"\0\1")


def test_constraints_strictness_and_all_errors(way):
    tp = Annotated[array, "d", at.Len(1, 2)]
    assert found(tp, packed([1, 2])) == ("d", struct.pack("=2d", 1, 2))
    assert found(tp, packed([])) == "$: expected a length of at least 1, found array('d') (at byte 0)"
    assert found(tp, packed([1, 2, 3])).startswith("$: expected a length of at most 2, found array('d', [1.0")
    tp = Annotated[array, "q", at.Predicate(lambda value: sum(value) == 3)]
    assert found(tp, packed([1, 2])) == ("q", struct.pack("=2q", 1, 2))
    assert "a value that passes" in found(tp, packed([1, 1]))
    assert found(Annotated[array, "q"], packed(["1", 2.0]), strict=False) == ("q", struct.pack("=2q", 1, 2))
    with pytest.raises(typed.ValidationError) as info:
        typed.decode(packed([1, None, 2, "x"]), array, all_errors=True)
    assert [error.path for error in info.value.errors] == [(1,), (3,)]
    with pytest.raises(TypeError, match="does not apply"):
        typed.Decoder(Annotated[array, at.Gt(0)])
    with pytest.raises(TypeError, match="unhashable"):
        typed.Decoder(Set[array])


def test_a_type_code_is_not_a_description():
    @dataclass
    class Samples:
        values: Annotated[array, "f", "In volts."]

    (field,) = typed.inspect(Samples)["fields"]
    assert (field["type"]["name"], field["description"]) == ("array('f')", "In volts.")
    made = typed.decode(packed({"values": [1, 2]}), Samples)
    assert shown(made.values) == ("f", struct.pack("=2f", 1, 2))


@pytest.mark.parametrize("kind", [array, memoryview])
def test_the_memory_of_empty_arrays_is_counted(kind, way):
    tp = List[kind]
    data = typed.encode([array("d")] * 100) if kind is memoryview else packed([[]] * 100)
    assert len(typed.Decoder(tp, max_memory=100_000).decode(data)) == 100
    with pytest.raises(cpkg.LimitError):
        typed.Decoder(tp, max_memory=100 * (64 + 80)).decode(data)
    with pytest.raises(cpkg.StackError):
        typed.Decoder(tp, max_depth=0).decode(data)


def test_lengths_beyond_the_message_take_no_memory(way):
    for data in (b"\xdd\xff\xff\xff\xff\x01", b"\xdc\x00\x03\x01\x02", b"\xdd\x00\x00"):
        with pytest.raises(cpkg.TruncatedError):
            typed.decode(data, array)
    cut = extension("|u1", (100,), bytes(100))
    with pytest.raises(cpkg.TruncatedError):
        typed.decode(cut[:-1], array)


def test_arrays_are_encoded_as_by_dumps():
    values = {"a": array("h", [1, 2]), "b": memoryview(b"ab")}
    assert typed.encode(values) == cpkg.dumps(values)
    assert shown(typed.decode(typed.encode(values["a"]), array)) == shown(values["a"])
    assert typed.to_builtins(values["a"]) == [1, 2]
    derived = type("Derived", (array,), {})("h", [1, 2])
    assert typed.to_builtins(derived) == [1, 2]
    assert typed.encode(derived) == typed.encode(values["a"])
    assert typed.convert(derived, array) == values["a"]
    assert typed.convert((1, 2), array) == typed.convert(array("q", [1, 2]), array) == array("q", [1, 2])
    assert typed.convert(array("h", [1]), Annotated[array, "q"], strict=False) == array("q", [1])
    with pytest.raises(typed.ValidationError, match=r"expected array\('q'\), found an array of int16"):
        typed.convert(array("h", [1]), Annotated[array, "q"])
    assert typed.schema(Annotated[array, "B", at.MaxLen(2)])["items"] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 255,
    }


# --- numpy --------------------------------------------------------------------------------------------------------


@pytest.fixture
def numpy() -> Any:
    return pytest.importorskip("numpy")


def an_array(numpy: Any, item: Any, *shape: Any) -> Any:
    """Return the type of numpy arrays of these items, optionally with a number of dimensions."""
    return numpy.ndarray[tuple[shape] if shape else Any, numpy.dtype[item]]


def test_random_lists_become_the_same_arrays_as_in_numpy(numpy, way):
    rng = random.Random(SEED)
    names = ("bool", *NAMES.values(), "float16")
    for _ in range(80):
        name = rng.choice(names)
        shape = [rng.randrange(1, 40) for _ in range(rng.randrange(1, 4))]
        if rng.random() < 0.1:
            shape[-1] = 0
        bits = numpy.frombuffer(
            rng.randbytes(numpy.dtype(name).itemsize * math.prod(shape)), name if name != "bool" else "u1"
        )
        expected = (bits % 2 == 0 if name == "bool" else bits).reshape(shape)
        if expected.dtype.kind == "f":
            expected = numpy.nan_to_num(expected, nan=0.5)
        if rng.random() < 0.5 and expected.dtype.kind in "iu":
            expected = expected % expected.dtype.type(100)
        data = packed(expected.tolist())
        scalar = expected.dtype.type
        for tp in (an_array(numpy, scalar), an_array(numpy, scalar, *[int] * len(shape))):
            made = typed.decode(data, tp)
            assert shown(made) == shown(expected), (name, shape)
            assert (made.flags.writeable, made.flags.owndata) == (True, True)
        if name != "uint64":  # numpy makes float64 of them if some are beyond int64
            assert shown(typed.decode(data, numpy.ndarray)) == shown(numpy.array(expected.tolist()))
        whole = typed.encode(expected)
        for tp in (numpy.ndarray, an_array(numpy, scalar), an_array(numpy, scalar, *[int] * len(shape))):
            assert found(tp, whole) == shown(expected)
        with pytest.raises(typed.ValidationError, match="found an array of"):
            typed.decode(whole, an_array(numpy, scalar, *[int] * (len(shape) + 1)))


def test_item_types_of_numpy(numpy, way):
    single, of = typed.encode(numpy.arange(3, dtype="f4")), partial(an_array, numpy)
    assert found(of(numpy.floating), single)[0] == "float32"
    for name, data, other in (
        ("float64", single, "an array of float32"), ("integer", single, "an array of float32"),
        ("datetime64", packed([1]), "array"),
    ):  # fmt: skip
        assert found(of(getattr(numpy, name)), data) == f"$: expected NDArray[{name}], found {other} (at byte 0)"
    assert found(of(numpy.float64), single, strict=False) == shown(numpy.arange(3.0))
    for kind, name in (("integer", "int64"), ("unsignedinteger", "uint64"), ("floating", "float64")):
        assert found(of(getattr(numpy, kind)), packed([1, 2]))[0] == name
    assert found(of(numpy.number), packed([1, 2]))[0] == "int64"
    assert found(numpy.ndarray, packed([True, False])) == shown(numpy.array([True, False]))
    assert found(numpy.ndarray, packed([]))[:2] == ("float64", (0,))
    assert found(of(numpy.int8, int, int), packed([]))[:2] == ("int8", (0, 0))
    others = (("M8[us]", 2), ("m8[s]", (1, 2)), ("c16", 2), ("f8", ()), ("f8", 5000), (">f8", 3), ("<f8", 3))
    for each in (numpy.zeros(shape, kind) for kind, shape in others):
        data = typed.encode(each)
        assert found(numpy.ndarray, data) == found(of(each.dtype.type), data) == shown(each)
    data = extension(ORDER + "i2", (1,), b"\0\0", kind=1)
    assert found(of(numpy.int16), data) == ("int16", (1,), b"\0\0")
    with pytest.raises(TypeError, match="cannot decode an array of str_"):
        typed.Decoder(of(numpy.str_))


def test_variables_and_aliases_stand_for_their_values(numpy):
    """NDArray is an alias with a variable from numpy 2.5 on."""
    item = TypeVar("item", bound=numpy.generic)
    items = TypeAliasType("items", numpy.ndarray[Any, numpy.dtype[item]], type_params=(item,))
    small, flat = TypeAliasType("small", numpy.int8), TypeAliasType("flat", Tuple[int])
    row = numpy.ndarray[flat, numpy.dtype[small]]
    for tp in (items[numpy.int8], items[small], row):
        assert found(tp, packed([1])) == ("int8", (1,), b"\1")
    assert found(items, packed([1])) == found(numpy.ndarray, packed([1]))
    assert found(row, packed([[1]])).startswith("$[0]: expected int8, found array")
    made = make_dataclass("Made", [("a", numpy.ndarray[Any, numpy.dtype[item]])], bases=(Generic[item],))
    assert typed.decode(packed({"a": [1]}), made[numpy.int8]).a.dtype == numpy.int8


def test_errors_of_numpy_arrays(numpy, way):
    tp = an_array(numpy, numpy.int8)
    for value in ([[1, 2], [3]], [[1], 2], [1, [2]], 5):
        wrong = "int" if value == 5 else "rows of different lengths"
        assert found(tp, packed(value)) == f"$: expected NDArray[int8], found {wrong} (at byte 0)"
    assert found(tp, packed([[1, 2], [3, 128]])) == "$[1][1]: expected int8 <= 127, found 128 (at byte 6)"
    assert found(tp, packed([[1], [None]])) == "$[1][0]: expected int8 | list, found None (at byte 4)"
    for numbers in ([5, 0], [300] * 40, [0.5]):
        at_byte = 3 if len(numbers) > 15 else 1
        text = f"$[0]: expected bool | list, found {type(numbers[0]).__name__} (at byte {at_byte})"
        assert found(an_array(numpy, numpy.bool_), packed(numbers)) == text
    assert found(an_array(numpy, numpy.float16), packed([1, 1e9])) == (
        "$: expected NDArray[float16], found a number outside the range of float16 (at byte 0)"
    )
    assert found(Annotated[tp, at.MinLen(1)], typed.encode(numpy.array(1, "i1"))).startswith(
        "$: expected a value that can be checked"
    )
    deep = packed([[[1]]])
    with pytest.raises(cpkg.StackError):
        typed.Decoder(tp, max_depth=2).decode(deep)
    assert found(tp, deep) == ("int8", (1, 1, 1), b"\1")


def test_the_shape_of_a_list_is_read_no_deeper_than_allowed(numpy):
    data = b"\xdd\xff\xff\xff\xff" * 100  # the number of items would have as many digits as the message
    reads = Mock(wraps=arrays.read_array)
    with patch.object(arrays, "read_array", reads), pytest.raises(Mismatch):
        Numbers(("f8",), "", numpy=numpy).read(data, 0, 10)
    assert reads.call_count == 11


def test_views_keep_large_messages_and_copies_do_not(numpy):
    tp = an_array(numpy, numpy.float64)
    large = typed.decode(typed.encode(numpy.arange(1000.0)), tp)
    small = typed.decode(typed.encode(numpy.arange(3.0)), tp)
    assert (large.flags.writeable, small.flags.writeable) == (False, False)
    assert sys.getsizeof(small.base if isinstance(small.base, bytes) else small.base.obj) < 100


def test_fields_of_arrays(numpy):
    @dataclass
    class Track:
        points: an_array(numpy, numpy.float64, int, int)
        times: Optional[array] = None
        weights: Union[an_array(numpy, numpy.float32), str] = ""

    track = Track(numpy.ones((2, 2)), array("d", [0.5]), numpy.ones(2, "f4"))
    for data in (typed.encode(track), packed({"points": [[1, 1], [1, 1]], "times": [0.5], "weights": [1, 1]})):
        made = typed.decode(data, Track)
        assert [shown(each) for each in (made.points, made.times, made.weights)] == [
            shown(each) for each in (track.points, track.times, track.weights)
        ]
    assert typed.to_builtins(track)["points"] == [[1, 1], [1, 1]]
    assert typed.convert({"points": track.points}, Track).points is track.points
    assert shown(typed.convert({"points": ((1, 1), (1, 1))}, Track).points) == shown(track.points)
    with pytest.raises(typed.ValidationError, match="2 dimensions, found an array of 1 dimensions"):
        typed.convert({"points": numpy.ones(2)}, Track)
    assert typed.schema(Track)["$defs"]["Track"]["properties"]["points"]["items"]["items"] == {"type": "number"}


def test_a_default_array_is_omitted_if_the_value_is_equal(numpy):
    attrs = pytest.importorskip("attrs")

    @typed.options(omit_defaults=True)
    @attrs.define
    class Signal:
        values: numpy.ndarray = numpy.zeros(3)
        codes: array = array("d", [0.0])

    assert typed.encode(Signal()) == typed.encode(Signal(numpy.zeros(3), array("d", [0.0]))) == packed({})
    for values, codes in ((numpy.zeros(3, "f4"), [0.0]), (numpy.zeros((3, 1)), [0.0]), (-numpy.zeros(3), [0.0])):
        assert typed.encode(Signal(values, array("d", codes))) == typed.encode({"values": values})
    assert typed.encode(Signal(codes=array("d", [-0.0]))) == typed.encode({"codes": array("d", [-0.0])})


def test_the_exception_of_a_signal_handler_is_raised(monkeypatch):
    def interrupted(*_):
        raise ValueError("by a handler")

    if codecs.msgpack_module().TypedTable is None:
        pytest.skip("C calls these functions")
    monkeypatch.setattr(Numbers, "read_extension", interrupted)
    with pytest.raises(ValueError, match="by a handler"):
        typed.Decoder(array).decode(cpkg.dumps(array("q", [1])))


def test_an_invalid_array_ends_decoding_of_several_messages():
    good = cpkg.dumps(array("q", [1]))
    for wrong in (extension("<q8", (1,), b"", 1), packed([2**64 - 1, -1])):
        made, begin, failure, _ = codecs.decode_all(typed.Decoder(array), good + wrong + good, 3, -1)
        assert failure is None or (made, begin) == ([array("q", [1])], len(good))
