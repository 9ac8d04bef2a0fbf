# SPDX-License-Identifier: Apache-2.0
"""The public surface: names and defaults of msgpack 1.2.4, the facade, the value types, the exceptions."""

from __future__ import annotations

import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

import pytest
from processes import run_alone

import cpkg.msgpack
import purepy.base.errors
from cpkg import _backend
from purepy.msgpack.ext import ExtType
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


# --- ExtType -----------------------------------------------------------------------------------------------------


# --- Timestamp ---------------------------------------------------------------------------------------------------

# --- Raw ---------------------------------------------------------------------------------------------------------
