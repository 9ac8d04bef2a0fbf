# SPDX-License-Identifier: Apache-2.0
"""The backends of a codec have the same interface: names, signatures, defaults, exception types, shared classes."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType

import pytest
from backends import available

from purepy.msgpack.ext import ExtType

pytestmark = pytest.mark.parametrize(
    ("codec", "backend"),
    [(codec, backend) for codec in ("msgpack", "zstd") for backend in available(codec) if backend != "pure"],
)
# Classes with state of a backend differ per backend; every other public name is the same object.
OWN = {
    "msgpack": {"Packer", "Unpacker"},
    "zstd": {"SeekableZstdFile", "ZstdCompressor", "ZstdDecompressor", "ZstdFile"},
}


def public(module: ModuleType) -> dict[str, object]:
    return {name: getattr(module, name) for name in module.__all__}


def parameters(function: object) -> list[tuple[str, object, object]]:
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type]
    except ValueError:
        if sys.version_info >= (3, 10):  # older versions show no signatures of C types
            raise
        pytest.skip(f"Python {sys.version_info[0]}.{sys.version_info[1]} shows no signature of {function!r}")
    # the signature of a builtin cannot contain a class, so the default of ext_hook is `...`
    return [
        (p.name, p.kind, ExtType if p.default is ... else p.default)
        for p in signature.parameters.values()
        if p.name != "self"
    ]


def test_same_functions(codec: str, backend: str) -> None:
    native, pure = public(available(codec)[backend]), public(available(codec)["pure"])
    assert native.keys() == pure.keys()
    compared = 0
    for name, value in pure.items():
        if callable(value) and not inspect.isclass(value):
            assert parameters(native[name]) == parameters(value), name
            compared += 1
    assert compared >= 5


def test_same_classes(codec: str, backend: str) -> None:
    native, pure = public(available(codec)[backend]), public(available(codec)["pure"])
    for name, value in pure.items():
        if not inspect.isclass(value):
            continue
        if name not in OWN[codec]:
            assert native[name] is value, name
            continue
        other = native[name]
        assert parameters(other) == parameters(value), name
        methods = {n for n in dir(value) if not n.startswith("_")}
        assert {n for n in dir(other) if not n.startswith("_")} == methods, name
        for method in methods:
            mine, theirs = getattr(value, method), getattr(other, method)
            # methods inherited from io are the same objects, and have no signature on older interpreters
            if inspect.isroutine(mine) and theirs is not mine:
                assert parameters(theirs) == parameters(mine), f"{name}.{method}"


def test_each_says_who_it_is(codec: str, backend: str) -> None:
    for name in ("pure", backend):
        module = available(codec)[name]
        assert (module.BACKEND, module.LIBRARY_VERSION is None) == (name, name == "pure")
