# SPDX-License-Identifier: Apache-2.0
"""The public surface: names and defaults of msgpack 1.2.4, the facade, the value types, the exceptions."""

from __future__ import annotations

import copy
import datetime
import importlib
import inspect
import pickle
import sys
from types import ModuleType
from typing import Any

import pytest
from processes import run_alone

import cpkg.msgpack
import purepy.base.errors
from cpkg import _backend
from purepy.msgpack.ext import ExtType, Raw, Timestamp
from purepy.msgpack.options import PACKING, UNPACKING, Options

# the names in `msgpack` 1.2.4, with their defaults
PACK_OPTIONS = {
    "default": None,
    "use_single_float": False,
    "autoreset": True,
    "use_bin_type": True,
    "strict_types": False,
    "datetime": False,
    "unicode_errors": None,
    "buf_size": 256 * 1024,
}
UNPACK_OPTIONS = {
    "object_hook": None,
    "list_hook": None,
    "use_list": True,
    "raw": False,
    "timestamp": 0,
    "strict_map_key": True,
    "unicode_errors": None,
    "object_pairs_hook": None,
    "ext_hook": ExtType,
    "max_str_len": -1,
    "max_bin_len": -1,
    "max_array_len": -1,
    "max_map_len": -1,
    "max_ext_len": -1,
}
STREAM_OPTIONS = {"read_size": 0, "max_buffer_size": 100 * 1024 * 1024}
NAMES = [
    *("packb", "pack", "dumps", "dump", "unpackb", "unpack", "loads", "load", "Packer", "Unpacker", "ExtType"),
    *("Timestamp", "BufferFull", "OutOfData", "ExtraData", "FormatError", "StackError", "UnpackException"),
    *("UnpackValueError", "PackException", "PackValueError", "PackOverflowError", "version", "__version__"),
]


@pytest.mark.parametrize("name", NAMES)
def test_has_every_name_of_msgpack(msgpack: ModuleType, name: str) -> None:
    """Each public name of msgpack is in every backend and in the facade."""
    assert hasattr(msgpack, name)
    assert hasattr(cpkg.msgpack, name)


def keyword_only(function: object) -> dict[str, object]:
    try:
        parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    except ValueError:
        if sys.version_info >= (3, 10):
            raise
        pytest.skip(f"Python 3.9 cannot show the signature of {function!r}, a C type")
    found = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    if found.get("ext_hook") is ...:  # the signature of a builtin cannot contain a class
        found["ext_hook"] = ExtType
    return found


@pytest.mark.parametrize(
    ("name", "theirs", "declared", "own"),
    [
        *((name, PACK_OPTIONS, PACKING, {}) for name in ("packb", "pack", "pack_into")),
        ("Packer", PACK_OPTIONS, PACKING, {"buffer": None}),
        *((name, UNPACK_OPTIONS, UNPACKING, {}) for name in ("unpackb", "unpackb_from", "unpack")),
        ("Unpacker", UNPACK_OPTIONS, UNPACKING, STREAM_OPTIONS),
    ],
)
def test_options(
    msgpack: ModuleType, name: str, theirs: dict[str, Any], declared: Options, own: dict[str, Any]
) -> None:
    """Each function and type accepts msgpack's options by keyword, with msgpack's defaults, and the declared ones."""
    found = keyword_only(getattr(msgpack, name))
    assert found == {**declared.defaults._asdict(), **own}
    assert {option: found[option] for option in theirs} == theirs


def test_aliases(msgpack: ModuleType) -> None:
    """The aliases for simplejson's names and the deprecated aliases are the same objects."""
    assert msgpack.dumps is msgpack.packb
    assert msgpack.dump is msgpack.pack
    assert msgpack.loads is msgpack.unpackb
    assert msgpack.load is msgpack.unpack
    assert msgpack.UnpackValueError is msgpack.PackValueError is ValueError
    assert msgpack.PackException is Exception
    assert msgpack.PackOverflowError is OverflowError
    assert msgpack.version == (1, 2, 4)
    assert msgpack.__version__ == "1.2.4"


def test_one_positional_argument(msgpack: ModuleType) -> None:
    """Options cannot be positional arguments."""
    with pytest.raises(TypeError):
        msgpack.packb(1, None)
    with pytest.raises(TypeError):
        msgpack.unpackb(b"\x01", None)
    with pytest.raises(TypeError):
        msgpack.packb(1, no_such_option=1)


def test_facade_is_the_chosen_backend() -> None:
    """The facade exports the backend's own functions, without wrappers."""
    module = _backend.choose("msgpack").module
    assert cpkg.msgpack.packb is module.packb
    assert cpkg.msgpack.unpackb is module.unpackb
    assert set(cpkg.msgpack.__all__) == {*module.__all__, "exceptions", "ext"}


def test_submodules(msgpack: ModuleType) -> None:
    """`exceptions` and `ext` are imported with the package, and contain the same objects as the package."""
    code = """
import cpkg.msgpack as msgpack
assert msgpack.exceptions.ExtraData is msgpack.ExtraData
assert msgpack.ext.Timestamp is msgpack.Timestamp
"""
    done = run_alone(msgpack, "backend", code)  # another test may have imported them here
    assert done.returncode == 0, done.stderr
    exceptions = importlib.import_module("cpkg.msgpack.exceptions")
    ext = importlib.import_module("cpkg.msgpack.ext")
    for name in exceptions.__all__:
        assert getattr(exceptions, name) is getattr(cpkg.msgpack, name)
    for name in ext.__all__:
        assert getattr(ext, name) is getattr(cpkg.msgpack, name)


def test_exception_tree(msgpack: ModuleType) -> None:
    """Code that catches msgpack's exceptions also catches these."""
    assert issubclass(msgpack.BufferFull, msgpack.UnpackException)
    assert issubclass(msgpack.OutOfData, msgpack.UnpackException)
    for name in ("FormatError", "StackError", "TruncatedError"):
        assert issubclass(getattr(msgpack, name), (ValueError, msgpack.UnpackException))
        assert issubclass(getattr(msgpack, name), ValueError)
    assert issubclass(msgpack.ExtraData, ValueError)
    assert not issubclass(msgpack.ExtraData, msgpack.UnpackException)
    assert issubclass(msgpack.LimitError, ValueError)
    assert msgpack.FormatError is purepy.base.errors.FormatError


def test_classes_can_be_subclassed(msgpack: ModuleType) -> None:
    """Packer and Unpacker are classes, as in msgpack."""

    class Mine(msgpack.Packer):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(use_bin_type=False)

    class Yours(msgpack.Unpacker):  # type: ignore[misc, name-defined]
        pass

    assert Mine().pack(b"a") == b"\xa1a"
    unpacker = Yours(use_list=False)
    unpacker.feed(b"\x91\x01")
    assert unpacker.unpack() == (1,)


# --- ExtType -----------------------------------------------------------------------------------------------------


def test_ext_type() -> None:
    """ExtType is a named tuple with checked fields."""
    ext = ExtType(5, b"data")
    assert ext == (5, b"data")
    assert (ext.code, ext.data) == ext
    assert repr(ext) == "ExtType(code=5, data=b'data')"
    assert pickle.loads(pickle.dumps(ext)) == ext
    assert type(copy.copy(ext)) is ExtType
    for code in (-1, 128):
        with pytest.raises(ValueError, match="code must be 0~127"):
            ExtType(code, b"")
    with pytest.raises(TypeError, match="code must be int"):
        ExtType("1", b"")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="data must be bytes"):
        ExtType(1, "data")  # type: ignore[arg-type]


# --- Timestamp ---------------------------------------------------------------------------------------------------

UTC = datetime.timezone.utc


@pytest.mark.parametrize(
    ("seconds", "nanoseconds", "payload"),
    [
        (0, 0, "00000000"),
        (2**32 - 1, 0, "ffffffff"),
        (2**32, 0, "0000000100000000"),
        (0, 1, "0000000400000000"),
        (2**34 - 1, 999999999, "ee6b27ffffffffff"),
        (2**34, 0, "000000000000000400000000"),
        (-1, 5, "00000005ffffffffffffffff"),
        (-(2**63), 0, "000000008000000000000000"),
    ],
)
def test_timestamp_bytes(seconds: int, nanoseconds: int, payload: str) -> None:
    """The shortest of timestamp 32, 64 and 96 that can represent the time is used."""
    timestamp = Timestamp(seconds, nanoseconds)
    assert timestamp.to_bytes().hex() == payload
    assert Timestamp.from_bytes(bytes.fromhex(payload)) == timestamp


def test_timestamp_is_a_value() -> None:
    """Timestamps compare, hash, print and pickle by value, and check their arguments."""
    timestamp = Timestamp(1, 2)
    assert timestamp == Timestamp(1, 2)
    assert timestamp != Timestamp(1, 3)
    assert timestamp != (1, 2)
    assert hash(timestamp) == hash(Timestamp(1, 2))
    assert repr(timestamp) == "Timestamp(seconds=1, nanoseconds=2)"
    assert pickle.loads(pickle.dumps(timestamp)) == timestamp
    for bad in (-1, 10**9):
        with pytest.raises(ValueError, match="nanoseconds"):
            Timestamp(0, bad)
    with pytest.raises(TypeError):
        Timestamp(1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Timestamp(1, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="length 5"):
        Timestamp.from_bytes(b"12345")
    with pytest.raises(OverflowError):
        Timestamp(2**63).to_bytes()


def test_timestamp_conversions() -> None:
    """Timestamps convert to and from floats, ints of nanoseconds and datetimes, also before 1970."""
    assert Timestamp.from_unix(-0.5) == Timestamp(-1, 500000000)
    assert Timestamp(-1, 500000000).to_unix() == -0.5
    assert Timestamp.from_unix_nano(-1) == Timestamp(-1, 999999999)
    assert Timestamp(-1, 999999999).to_unix_nano() == -1
    moment = datetime.datetime(3000, 1, 1, 0, 0, 0, 999999, tzinfo=UTC)
    assert Timestamp.from_datetime(moment) == Timestamp(32503680000, 999999000)
    assert Timestamp.from_datetime(moment).to_datetime() == moment
    local = datetime.datetime(2020, 5, 17, 12)
    assert Timestamp.from_datetime(local).to_datetime() == local.astimezone(UTC)


# --- Raw ---------------------------------------------------------------------------------------------------------


def test_raw_is_a_value() -> None:
    """Raw compares, hashes, prints and pickles by its bytes, and unpacks them."""
    raw = Raw(bytearray(b"\x92\x01\xa1a"))
    assert type(raw.data) is bytes
    assert bytes(raw) == raw.data == b"\x92\x01\xa1a"
    assert len(raw) == 4
    assert raw == Raw(b"\x92\x01\xa1a")
    assert raw != Raw(b"\x01")
    assert raw != b"\x92\x01\xa1a"
    assert hash(raw) == hash(Raw(raw.data))
    assert repr(raw) == "Raw(b'\\x92\\x01\\xa1a')"
    assert pickle.loads(pickle.dumps(raw)) == raw
    for bad in ("text", 5, None):
        with pytest.raises(TypeError):
            Raw(bad)  # type: ignore[arg-type]
