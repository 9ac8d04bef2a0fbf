# SPDX-License-Identifier: Apache-2.0
"""The oracles for the pure Zstandard codec: libzstd, and the codec with the hot loops of the other interpreter."""

from __future__ import annotations

import functools
import importlib
import sys
from types import ModuleType

import pytest
from backends import available
from extent import IS_FULL

import purepy.zstd
from purepy.base import pypy


def find_libzstd() -> ModuleType | None:
    """Return the module with the newest libzstd: a backend, or another package with the same interface; or None."""
    found = [module for name, module in available("zstd").items() if name != "pure"]
    for name in ("compression.zstd", "backports.zstd"):
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            continue
    return max(found, key=lambda module: module.zstd_version_info, default=None)


def libzstd() -> ModuleType:
    """Return libzstd, or skip the test if there is none."""
    found = find_libzstd()
    if found is None:
        pytest.skip("no libzstd to compare with: build the native backend, or install backports.zstd")
    return found


def standard(name: str) -> ModuleType:
    """Return the standard library's `tarfile` or `zipfile` with Zstandard, or its backport, or skip the test."""
    if sys.version_info >= (3, 14):
        pytest.importorskip("_zstd")
        return importlib.import_module(name)
    return pytest.importorskip(f"backports.zstd.{name}")


FORMS = ["usual", "other"] if IS_FULL else ["usual"]
"""The forms of the hot loops to test: CPython 3.11 also tests PyPy's form; PyPy is too slow with CPython's form."""


def in_form(form: str) -> ModuleType:
    """Return the codec with its hot loops in a form of FORMS."""
    return purepy.zstd if form == "usual" else other_form()


@functools.lru_cache(maxsize=1)
def other_form() -> ModuleType:
    """
    Import purepy.zstd again with the hot loops of the other kind of interpreter; return this second module.

    CPython then runs the loops for PyPy's JIT, or PyPy the loops for CPython, both slowly.
    """
    saved = {name: module for name, module in sys.modules.items() if _is_codec(name)}
    shared = {f"purepy.zstd.format.{name}" for name in ("parameters", "zdict", "error_codes")}
    for name in saved.keys() - shared:
        del sys.modules[name]
    parent = sys.modules["purepy"]
    before, usual = parent.zstd, pypy.JIT
    pypy.JIT = not usual
    try:
        module = importlib.import_module("purepy.zstd")
        for name in module.__all__:
            getattr(module, name)  # loads lazy names
        return module
    finally:
        pypy.JIT = usual
        parent.zstd = before
        for name in [name for name in sys.modules if _is_codec(name)]:
            del sys.modules[name]
        sys.modules.update(saved)


def _is_codec(name: str) -> bool:
    return name == "purepy.zstd" or name.startswith("purepy.zstd.")
