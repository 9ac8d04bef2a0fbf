# SPDX-License-Identifier: Apache-2.0
"""The public surface: names and defaults of msgpack 1.2.4, the facade, its submodules, the documented examples."""

from __future__ import annotations

import importlib
import inspect
import sys
from types import ModuleType
from typing import Any, get_type_hints

import pytest
from documents import check_examples
from processes import run_alone

import cpkg.msgpack
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
    **dict.fromkeys(("max_str_len", "max_bin_len", "max_array_len", "max_map_len", "max_ext_len"), -1),
}
STREAM_OPTIONS = {"read_size": 0, "max_buffer_size": 100 * 1024 * 1024}


def test_has_every_name_of_msgpack(msgpack: ModuleType) -> None:
    """Each public name of msgpack is in every backend and in the facade."""
    names = """
    packb pack dumps dump Packer unpackb unpack loads load Unpacker ExtType Timestamp version __version__
    BufferFull OutOfData ExtraData FormatError StackError UnpackException UnpackValueError
    PackException PackValueError PackOverflowError
    """
    for name in names.split():
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
    for submodule in ("exceptions", "ext"):
        module = importlib.import_module(f"cpkg.msgpack.{submodule}")
        for name in module.__all__:
            assert getattr(module, name) is getattr(cpkg.msgpack, name)


def test_the_types_of_fields_can_be_evaluated() -> None:
    """Libraries for typed messages do so."""
    found = get_type_hints(ExtType)
    assert (found["code"], found["data"]) == (int, bytes)


def test_the_examples_of_the_page(msgpack: ModuleType) -> None:
    names = {"msgpack": msgpack, "__name__": __name__}  # dataclasses look up their module by name
    check_examples("msgpack.md", 30, names, without="import cpkg.msgpack as msgpack")
