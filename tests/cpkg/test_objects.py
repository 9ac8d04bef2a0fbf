# SPDX-License-Identifier: Apache-2.0
"""dumps and loads: the restored values, the written form, and the errors for damage, bombs and wrong use."""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import datetime as dt
import decimal
import enum
import inspect
import json
import struct
import uuid
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from any_codecs import decode, encode
from record_files import depth_of, nested
from seeds import noise
from threads import run_threads

import cpkg
from cpkg.objects import dumps_loads, types_read
from cpkg.objects.extension_values import date_of
from purepy.base import errors
from purepy.base.locks import process_lock
from purepy.msgpack.ext import ExtType, Timestamp

MAGIC = b"\x28\xb5\x2f\xfd"
UTC = dt.timezone.utc
BAD_EXTENSIONS = json.loads(Path(__file__).with_name("bad_extensions.json").read_text())
DAMAGED = {
    "TruncatedError": {"": 0, "28b5": 0, "28b52f": 0, "dbffffffff": 0, "c9ffffffff05": 0, "9201cd01": 2}
    | {"ddffffffff": 5, "dfffffffff": 5},
    "FormatError": {"c1": 0, "9301c102": 2, "9201a2fffe": 2},
    "ExtraData": {"0102": 1},
}
"""Error -> damaged messages, some with headers that announce too much, and where the error is."""
ROWS = Path(__file__).with_name("values.txt").read_text(encoding="utf-8").splitlines()
"""Values of Python, some with the values that loads returns for them."""


Colour = enum.Enum("Colour", {"RED": "red", "PAIR": (1, 2)})
Level = enum.IntEnum("Level", {"HIGH": 3})
Point = collections.namedtuple("Point", "x y")
Stamp = type("Stamp", (dt.datetime,), {})
Station = dataclasses.make_dataclass(
    "Station",
    ["name", "where", ("colour", Colour, Colour.RED), ("hidden", int, dataclasses.field(default=7, repr=False))],
)


class NotATime(dt.datetime):  # like pandas.NaT
    def replace(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def isoformat(self, *args: Any, **kwargs: Any) -> str:
        return "NaT"


def back_of(codecs: dumps_loads.Codecs, value: Any, **options: Any) -> Any:
    """Return the value that loads restores from a value packed by dumps with these options."""
    return decode(codecs, encode(codecs, value, **options))


def raw_frame(content: bytes, *, declared: int | None, window: int = 0x50) -> bytes:
    """Return a frame of one raw block, with this content size, or without one."""
    block = struct.pack("<I", len(content) << 3 | 1)[:3] + content
    if declared is None:
        return MAGIC + bytes([0x00, window]) + block
    return MAGIC + b"\xe0" + struct.pack("<Q", declared) + block


@pytest.mark.parametrize("row", ROWS)
def test_values_come_back(codecs: dumps_loads.Codecs, row: str) -> None:
    """Values and types come back, or the value after the arrow."""
    given, _, wanted = row.partition("  ->  ")
    value, expected = eval(given), eval(wanted or given)
    for compress in (True, False):
        assert repr(back_of(codecs, value, compress=compress)) == repr(expected)


def test_an_aware_datetime_comes_back_in_utc(codecs: dumps_loads.Codecs) -> None:
    data = encode(codecs, dt.datetime(2024, 6, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2))))
    assert decode(codecs, data).isoformat() == "2024-06-01T10:00:00+00:00"
    assert data == b"\xd6\xff" + struct.pack(">I", 1717236000)
    for form, wanted in enumerate((Timestamp(1717236000), 1717236000.0, 1717236000 * 10**9)):
        assert decode(codecs, data, timestamp=form) == wanted
    assert decode(codecs, bytes.fromhex(BAD_EXTENSIONS["a time beyond datetime"]), timestamp=0) == Timestamp(2**62)


def test_numpy_scalars_and_arrays(codecs: dumps_loads.Codecs) -> None:
    numpy = pytest.importorskip("numpy")
    value = {"i": numpy.int16(-3), "f": numpy.float32(0.5), "b": numpy.bool_(True), "s": numpy.array(["a"])}
    back = back_of(codecs, value)
    assert back == {"i": -3, "f": 0.5, "b": True, "s": ["a"]}
    assert type(back["b"]) is bool


def test_the_extension_codes_are_what_files_hold(codecs: dumps_loads.Codecs) -> None:
    assert encode(codecs, decimal.Decimal("1.50")) == b"\xd6N1.50"
    assert encode(codecs, uuid.UUID(int=1)) == b"\xd8U" + bytes(15) + b"\x01"
    assert encode(codecs, dt.date(2024, 2, 29)) == b"\xc7\x0aD2024-02-29"
    assert encode(codecs, dt.time(1, 2, 3)) == b"\xd7T01:02:03"
    assert encode(codecs, dt.datetime(2024, 2, 29)) == b"\xc7\x13L2024-02-29T00:00:00"
    assert encode(codecs, dt.timedelta(seconds=1)) == b"\xc7\x0cP" + struct.pack(">iii", 0, 1, 0)


def test_options_reach_the_codec(codecs: dumps_loads.Codecs) -> None:
    data = encode(codecs, {"a": [1, ExtType(5, b"x"), dt.date.max]})
    assert decode(codecs, data, use_list=False) == {"a": (1, ExtType(5, b"x"), dt.date.max)}
    assert decode(codecs, data, object_hook=sorted) == ["a"]
    assert decode(codecs, data, ext_hook=lambda code, data: (code, bytes(data)))["a"] == [1, (5, b"x"), dt.date.max]
    caught = pytest.raises(errors.FormatError, decode, codecs, b"\x82\xa1a\x01\x02\x03", strict_map_key=True)
    assert caught.value.offset == 4
    one, other = {"b": 1, "a": {"d": 1, "c": 2}}, {"a": {"c": 2, "d": 1}, "b": 1}
    assert encode(codecs, one, sort_keys=True) == encode(codecs, other, sort_keys=True)


def test_default_is_asked_last(codecs: dumps_loads.Codecs) -> None:
    asked = []

    def default(obj: Any) -> Any:
        asked.append(obj)
        return f"<{obj!r}>"

    value = [dt.date(2024, 1, 1), 1j, 2**64, {1}]
    assert back_of(codecs, value, default=default) == [dt.date(2024, 1, 1), "<1j>", f"<{2**64}>", [1]]
    assert asked == [1j, 2**64]


@pytest.mark.parametrize("error", [type("Own", (base,), {}) for base in (ValueError, TypeError, BaseException)])
def test_errors_of_the_callers_functions_pass(codecs: dumps_loads.Codecs, error: type[BaseException]) -> None:
    def fail(*arguments: Any) -> Any:
        raise error("mine")

    for call in (
        lambda: encode(codecs, 1j, default=fail),
        lambda: decode(codecs, b"\x80", object_hook=fail),
        lambda: decode(codecs, b"\xd4\x05a", ext_hook=fail),
    ):
        pytest.raises(error, call).match("mine")


def test_the_error_of_a_message_in_a_message_keeps_its_offset(codecs: dumps_loads.Codecs) -> None:
    with pytest.raises(errors.FormatError) as caught:
        decode(codecs, b"\x92\x00\xc7\x06\x05\x93\x01\x02\xd4D1", ext_hook=lambda code, data: decode(codecs, data))
    assert caught.value.offset == 3


def test_an_empty_buffer_of_two_dimensions(codecs: dumps_loads.Codecs) -> None:
    pytest.raises(errors.TruncatedError, decode, codecs, (ctypes.c_ubyte * 3 * 0)()).match("the data is empty")


def test_what_cannot_be_packed(codecs: dumps_loads.Codecs) -> None:
    unpackable: list[tuple[Any, type[Exception], str]] = [
        ([1j], TypeError, r"type 'complex': convert it first, or pass default=.*\Z"),
        ({"a": 2**64}, OverflowError, "65 bits"),
        (-(2**63) - 1, OverflowError, "64 bits"),
        (decimal.Decimal("9" * 4097), ValueError, "4097 characters"),
        (decimal.Decimal("1e-100000000000000000"), ValueError, "more than 17 digits"),
        ("\ud800", UnicodeEncodeError, "surrogates not allowed"),
        (NotATime(2024, 1, 1), TypeError, "'NaT' is not a date and time"),
    ]
    for value, error, text in unpackable:
        pytest.raises(error, encode, codecs, value).match(text)


def test_depth_is_the_same_both_ways(codecs: dumps_loads.Codecs) -> None:
    value, message = nested(1024), b"\x91" * 1024 + b"\x01"
    assert encode(codecs, value, compress=False) == message
    assert depth_of(decode(codecs, message)) == 1024
    pytest.raises(ValueError, encode, codecs, [value]).match("recursion limit")
    pytest.raises(errors.StackError, decode, codecs, b"\x91" + message)


@pytest.mark.parametrize("members", [[1], set(), {1}, frozenset("ab"), {1, "a"}])
def test_a_set_is_a_level_as_a_list_is(codecs: dumps_loads.Codecs, members: Any) -> None:
    data = encode(codecs, [members], max_depth=2)
    assert decode(codecs, data, max_depth=2) == [sorted(members, key=str)]
    for act in (encode, decode):
        with pytest.raises(ValueError, match=r"recursion limit|max_depth"):
            act(codecs, [members] if act is encode else data, max_depth=1)


def test_auto_compresses_only_what_gets_smaller(codecs: dumps_loads.Codecs, zstd: ModuleType) -> None:
    assert encode(codecs, {"a": 1}) == b"\x81\xa1a\x01"
    value = ["the same text"] * 1000
    assert encode(codecs, value).startswith(MAGIC)
    assert len(encode(codecs, value)) < 200
    assert encode(codecs, value, compress=False)[:1] == b"\xdc"
    assert encode(codecs, noise(3000)) == b"\xc5\x0b\xb8" + noise(3000)
    forced = encode(codecs, 1, compress=True)
    assert forced.startswith(MAGIC)
    assert decode(codecs, forced) == 1


def test_min_size_bounds_what_auto_tries(codecs: dumps_loads.Codecs) -> None:
    value = "a" * 125  # a message of 127 bytes, with its header
    assert encode(codecs, value)[:1] == b"\xd9"
    assert encode(codecs, value + "a").startswith(MAGIC)
    assert encode(codecs, value, min_size=127).startswith(MAGIC)
    assert encode(codecs, value * 2, min_size=10**6)[:1] == b"\xd9"
    assert encode(codecs, "a", compress=True, min_size=10**6).startswith(MAGIC)


def test_level_reaches_the_compressor(codecs: dumps_loads.Codecs, zstd: ModuleType) -> None:
    value = [f"row {i * i % 977} of {i % 13}" for i in range(3000)]
    fast, small = encode(codecs, value, level=-50), encode(codecs, value, level=12)
    assert len(small) < len(fast)
    assert decode(codecs, fast) == decode(codecs, small) == value


def test_the_checksum_can_be_left_out(codecs: dumps_loads.Codecs, zstd: ModuleType) -> None:
    value = ["the same text"] * 1000
    with_checksum, without = encode(codecs, value), encode(codecs, value, checksum=False)
    assert len(with_checksum) == len(without) + 4
    assert (with_checksum[4] & 4, without[4] & 4) == (4, 0)
    assert decode(codecs, without) == value


def test_no_object_of_two_bytes_begins_like_a_frame(msgpack: ModuleType) -> None:
    """Prove, byte by byte, that `loads` cannot mistake one form for the other."""
    for first in (MAGIC[0], *range(0x50, 0x60)):
        assert msgpack.unpackb(bytes([first])) == first
        pytest.raises(errors.ExtraData, msgpack.unpackb, bytes([first]) + b"\xb5\x2f\xfd")
    assert cpkg.loads(b"\x28") == 40


def test_skippable_and_several_frames(codecs: dumps_loads.Codecs, zstd: ModuleType) -> None:
    message = encode(codecs, list(range(1000)), compress=False)
    skippable = b"\x5f\x2a\x4d\x18" + struct.pack("<I", 3) + b"xyz"
    halves = zstd.compress(message[:500]) + zstd.compress(message[500:])
    for data in (skippable + halves, halves + skippable, halves):
        assert decode(codecs, data) == list(range(1000))


@pytest.mark.parametrize(
    "make",
    [
        *(bytes, bytearray, memoryview, lambda data: memoryview(data).cast("b")),
        lambda data: memoryview(b"".join(bytes((byte, 0)) for byte in data))[::2],
    ],
    ids=["bytes", "bytearray", "view", "view of signed bytes", "strided view"],
)
def test_loads_takes_any_buffer(codecs: dumps_loads.Codecs, make: Any) -> None:
    for compress in (True, False):
        assert decode(codecs, make(encode(codecs, {"a": 1}, compress=compress))) == {"a": 1}


def test_every_prefix_is_an_error(codecs: dumps_loads.Codecs, zstd: ModuleType) -> None:
    value = {"name": "Thigpen", "position": [31.95376, -89.2345], "when": dt.date(2024, 1, 1), "list": ["ab"] * 40}
    message = encode(codecs, value, compress=False)
    for end in range(len(message)):
        cut = pytest.raises(errors.TruncatedError, decode, codecs, message[:end])
        assert cut.value.offset is not None
        assert 0 <= cut.value.offset <= end
    frame = encode(codecs, value, compress=True)
    for end in range(len(frame)):
        if end == 1:
            assert decode(codecs, frame[:1]) == 40  # a whole object, as documented
            continue
        pytest.raises(errors.CodecError, decode, codecs, frame[:end])


def test_no_flipped_bit_gives_another_object(codecs: dumps_loads.Codecs, zstd: ModuleType) -> None:
    value = [{"id": i, "text": "abc" * (i % 4)} for i in range(30)]
    frame = encode(codecs, value)
    assert frame.startswith(MAGIC)
    caught = 0
    for position in range(4, len(frame)):
        for bit in range(0, 8, 3):
            damaged = bytearray(frame)
            damaged[position] ^= 1 << bit
            try:
                assert decode(codecs, damaged) == value  # a bit without meaning, such as the unused one
            except errors.CodecError:
                caught += 1
    assert caught > 2 * (len(frame) - 4)


@pytest.mark.parametrize(
    ("error", "damaged", "offset"), [(error, *row) for error, rows in DAMAGED.items() for row in rows.items()]
)
def test_errors_tell_the_offset(
    codecs: dumps_loads.Codecs, zstd: ModuleType, error: str, damaged: str, offset: int
) -> None:
    data = bytes.fromhex(damaged)
    # inside a frame, the offset is still relative to the message
    for message in (data, *([raw_frame(data, declared=len(data))] if len(data) > 3 else [])):
        caught = pytest.raises(getattr(errors, error), decode, codecs, message)
        assert caught.value.offset == offset


def test_days_are_those_of_the_calendar() -> None:
    """At the ends of months, in years with and without a day in February, and where each rule for them begins."""
    epoch = dt.date(1970, 1, 1)
    for year in (1, 4, 100, 399, 400, 1600, 1900, 1969, 1970, 1972, 2000, 2100, 9996, 9999):
        for month in range(1, 13):
            first = dt.date(year, month, 1)
            assert date_of((first - epoch).days) == (year, month, 1)
            if first != dt.date.min:
                last = first - dt.timedelta(days=1)
                assert date_of((last - epoch).days) == (last.year, last.month, last.day)
    assert date_of((dt.date.max - epoch).days) == (9999, 12, 31)


@pytest.mark.parametrize("name", [*BAD_EXTENSIONS, "a Decimal of many digits"])
def test_bad_extension_values_are_format_errors(codecs: dumps_loads.Codecs, name: str) -> None:
    data = bytes.fromhex(BAD_EXTENSIONS[name]) if name in BAD_EXTENSIONS else b"\xc8\x20\x00N" + b"9" * 8192
    caught = pytest.raises(errors.FormatError, decode, codecs, data)
    assert caught.value.offset == 0
    value = {"a": [1, 2.5, "text", b"b" * 300, None, 300], "when": dt.date(2024, 1, 1)}
    before = encode(codecs, value, compress=False)
    message = b"\x93" + before + b"\xd6\xff" + bytes(4) + data
    for compressed in (message, raw_frame(message, declared=None)):
        caught = pytest.raises(errors.FormatError, decode, codecs, compressed)
        assert caught.value.offset == len(message) - len(data)


def test_the_search_for_a_bad_extension_is_bounded(codecs: dumps_loads.Codecs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types_read, "_SEARCHED", 4000)
    data = b"\xdd" + struct.pack(">I", 5000) + bytes(4999) + b"\xd4Nx"
    caught = pytest.raises(errors.FormatError, decode, codecs, data)
    assert ("Decimal" in str(caught.value), caught.value.offset) == (True, None)


CLOCKS = ["24:00:00", "24:00:00.000000", "25:00:00", "10:60:00", "10:00:60", "9:00:00"]
OFFSETS = ["+24:00", "-24:00", "+10:60", "+10:99", "+10:00:60", "+23:59:60", "+1:00"]


@pytest.mark.parametrize(
    "text", [*CLOCKS, *(f"{clock}+01:00" for clock in CLOCKS), *(f"12:00:00{offset}" for offset in OFFSETS)]
)
def test_no_time_of_day_and_no_offset(codecs: dumps_loads.Codecs, text: str) -> None:
    """Only Python 3.14 reads 24:00:00. An offset with more than 59 minutes or seconds would come back changed."""
    for code, whole in (("T", text), ("L", f"2024-01-01T{text}")):
        with pytest.raises(errors.FormatError):
            decode(codecs, codecs.packb(ExtType(ord(code), whole.encode())))


LIMITS = ["max_output_size", "max_memory", "max_total_items"]
NUMBERS = [*LIMITS, "max_depth", "timestamp"]
WRONG_ARGUMENTS: list[tuple[bool, str, Any, type[Exception], str]] = [
    *[(True, "compress", value, ValueError, f"True, False or 'auto', not {value!r}") for value in ("AUTO", None, 1, 0)],
    *[(True, "default", value, TypeError, f"a function or None, not {value!r}") for value in (5, "")],
    *[(True, "min_size", value, TypeError, f"an int, not {type(value).__name__}") for value in ("k", 1.0, None)],
    *[(False, hook, 0, TypeError, "a function or None, not 0") for hook in ("ext_hook", "object_hook")],
    *[(False, name, "5M", TypeError, "an int, not str") for name in NUMBERS],
    *[(False, name, 5.0, TypeError, "an int, not float") for name in NUMBERS],
    *[(False, name, -2, ValueError, "0 or more, or -1 for no limit, not -2") for name in LIMITS],
]


@pytest.mark.parametrize(("packs", "name", "value", "error", "text"), WRONG_ARGUMENTS, ids=str)
def test_an_error_names_a_wrong_argument(
    codecs: dumps_loads.Codecs, packs: bool, name: str, value: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=f"^{name} must be {text}$"):
        encode(codecs, [1], **{name: value}) if packs else decode(codecs, b"\x91\x01", **{name: value})


@pytest.mark.parametrize("data", ["abc", None, 5])
@pytest.mark.parametrize("tp", [None, int])
def test_loads_names_a_type_that_is_not_a_buffer(codecs: dumps_loads.Codecs, data: Any, tp: Any) -> None:
    with pytest.raises(TypeError, match=f"^data must be a bytes-like object, not {type(data).__name__}: use load "):
        decode(codecs, data, type=tp)


def test_max_output_size_is_exact(codecs: dumps_loads.Codecs, zstd: ModuleType) -> None:
    message = encode(codecs, bytes(10_000), compress=False)
    size = len(message)
    streamed = zstd.ZstdCompressor()
    unknown = streamed.compress(message) + streamed.flush()
    frames = {
        "declared": zstd.compress(message),
        "unknown": unknown,
        "two frames": zstd.compress(message[:6000]) + zstd.compress(message[6000:]),
        "plain": message,
    }
    for name, data in frames.items():
        for limit in (size, -1):
            assert decode(codecs, data, max_output_size=limit) == bytes(10_000), name
        with pytest.raises(errors.LimitError, match=f"{size - 1}.* with max_output_size$"):
            decode(codecs, data, max_output_size=size - 1)


def test_the_default_limit_follows_the_input(
    codecs: dumps_loads.Codecs, zstd: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dumps_loads, "OUTPUT_FLOOR", 20_000)
    bomb = encode(codecs, bytes(100_000), compress=True)
    assert len(bomb) < 200
    pytest.raises(errors.ZstdLimitError, decode, codecs, bomb)
    assert decode(codecs, bomb, max_output_size=200_000) == bytes(100_000)
    assert back_of(codecs, bytes(19_000), compress=True) == bytes(19_000)


@pytest.mark.once
def test_a_real_bomb_is_refused() -> None:
    """A few kB decompress to 65 MiB, which is refused with all defaults."""
    bomb = cpkg.dumps(bytes(65 * 2**20), compress=True, level=1)
    assert len(bomb) < 20_000
    pytest.raises(errors.ZstdLimitError, cpkg.loads, bomb)


@pytest.mark.parametrize("log", [28, 29, 30, 31])
def test_the_window_that_max_output_size_allows(codecs: dumps_loads.Codecs, zstd: ModuleType, log: int) -> None:
    """The error names the option of `loads`, not the option of Zstandard."""
    frame = raw_frame(b"\x01", declared=None, window=(log - 10) << 3)
    for limit in (2**log, -1):
        assert decode(codecs, frame, max_output_size=limit) == 1
    for limit in (None, 0, 2**27, 2**log - 1):
        with pytest.raises(errors.ZstdError, match=r"too much memory.*max_output_size to at least twice") as caught:
            decode(codecs, frame, max_output_size=limit)
        assert "options" not in str(caught.value)


@pytest.mark.parametrize("declared", [11, 2**20, 2**40, 2**63, 2**64 - 3])
def test_a_declared_size_is_not_believed(codecs: dumps_loads.Codecs, zstd: ModuleType, declared: int) -> None:
    message = b"\x99" + bytes(9)
    data = raw_frame(message, declared=declared)
    for limit in (None, 100, -1):
        pytest.raises(errors.ZstdError, decode, codecs, data, max_output_size=limit)
    assert decode(codecs, raw_frame(message, declared=10), max_output_size=10) == [0] * 9
    assert decode(codecs, raw_frame(message, declared=None), max_output_size=10) == [0] * 9


def test_items_are_counted_if_asked(codecs: dumps_loads.Codecs) -> None:
    for compress in (True, False):
        data = encode(codecs, [[]] * 5000, compress=compress)
        for limit in (None, -1, 5001):
            assert len(decode(codecs, data, max_total_items=limit)) == 5000
        pytest.raises(errors.LimitError, decode, codecs, data, max_total_items=5000)


@pytest.mark.parametrize(("function", "of_bytes"), [(cpkg.dump, dumps_loads.dumps), (cpkg.load, dumps_loads.loads)])
def test_options_with_files_are_those_with_bytes(function: Any, of_bytes: Any) -> None:
    of_file, of_memory = (inspect.signature(each).parameters.values() for each in (function, of_bytes))
    assert [p for p in of_file if p.kind is p.KEYWORD_ONLY] == [p for p in of_memory if p.kind is p.KEYWORD_ONLY]


@pytest.mark.parametrize(("moment", "hours"), [(dt.datetime.min, 1), (dt.datetime.max, -1)])
def test_a_datetime_that_could_not_come_back_is_refused(moment: dt.datetime, hours: int) -> None:
    """It would come back in UTC, in a year outside the range of datetime. Neighbours inside the range work."""
    moment = moment.replace(tzinfo=dt.timezone(dt.timedelta(hours=hours)))
    own = Stamp.fromisoformat(moment.isoformat())
    for obj in (moment, [moment], own, {"a": own}):
        pytest.raises(OverflowError, cpkg.dumps, obj).match(r"in UTC its year is outside 1\.\.9999")
    assert cpkg.loads(cpkg.dumps(own, default=str)) == str(own)
    within = moment.replace(tzinfo=dt.timezone.utc)
    assert cpkg.loads(cpkg.dumps(within)) == within


def test_threads_wait_while_the_codecs_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled functions keep what they get from Python in one place, which only one thread may set."""
    taken = []

    def build(backend: ModuleType) -> ModuleType:
        run_threads(lambda: taken.append(process_lock(dumps_loads._choosing).acquire(blocking=False)))
        return backend

    monkeypatch.setattr(dumps_loads, "Codecs", build)
    monkeypatch.setattr(dumps_loads, "_chosen", None)
    dumps_loads.chosen_codecs()
    assert taken == [False]
