# SPDX-License-Identifier: Apache-2.0
"""
Several libraries that have a libzstd of their own in one process: each keeps to its own, in whatever order they come.

CPKG_TEST_NEIGHBOURS names those that have to be there (the wheel rows of tox.ini); otherwise those that are serve.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import itertools
import json
import os
from pathlib import Path

import pytest
from backends import available
from processes import run_python

import cpkg

NEIGHBOURS = ("zstandard", "pyzstd", "backports.zstd", "compression.zstd")
REQUIRED = [name for name in os.environ.get("CPKG_TEST_NEIGHBOURS", "").split(",") if name]

pytestmark = pytest.mark.skipif("native" not in available("zstd"), reason="needs the native backend")


def present() -> list[str]:
    def found(name: str) -> bool:
        try:
            return importlib.util.find_spec(name) is not None
        except ImportError:
            return False

    here = [name for name in NEIGHBOURS if found(name)]
    missing = set(REQUIRED) - set(here)
    assert not missing, f"CPKG_TEST_NEIGHBOURS asks for {', '.join(sorted(missing))}"
    return here


def run(name: str, *arguments: object, **environment: str) -> str:
    """Run a script of this folder in a new process, with the default choice of backends; return what it prints."""
    script = Path(__file__).with_name(f"neighbours_{name}.txt").read_text(encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CPKG_")}
    result = run_python("-I", "-c", script, json.dumps(arguments), env={**clean, **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout


def load(order: list[str], system: str | None = None, **environment: str) -> dict[str, str]:
    """Load libraries in a process of their own, have each read what all have written, and return their versions."""
    versions: dict[str, str] = json.loads(run("check", order, system, **environment))
    return versions


def test_each_keeps_its_own_in_any_order() -> None:
    here = present()
    if not here:
        pytest.skip("no other library is here")
    alone = {name: load([name])[name] for name in here}
    own = load(["cpkg.zstd"])["cpkg"]
    for order in itertools.permutations([*here, "cpkg.zstd"]):
        assert load(list(order)) == {**alone, "cpkg": own}, order


def test_the_same_version_of_libzstd_gives_the_same_bytes() -> None:
    """Although the one that is in wheels is changed in a few places (`ffi_build/wheels/patches`)."""
    own = load(["cpkg.zstd"])["cpkg"]
    # pyzstd 0.18, the last one for Python 3.9, compresses what it gets as a stream, whose blocks are others
    same = [name for name in present() if name != "pyzstd" and load([name])[name] == own]
    assert same or not REQUIRED, f"none of {', '.join(REQUIRED)} has libzstd {own}"
    if not same:
        pytest.skip("no other library with this version of libzstd is here")
    run("same", same)


@pytest.mark.skipif(ctypes.util.find_library("zstd") is None, reason="this system has no libzstd")
def test_a_bundled_library_is_not_mistaken_for_the_system_s() -> None:
    """Even one whose names come first: the module of a wheel does not look for them outside of itself."""
    library = cpkg.backend_info()["zstd"].library
    if library is None or not library.startswith("bundled"):
        pytest.skip("this build links the system's library")
    system = ctypes.CDLL("libzstd.so.1")
    system.ZSTD_versionString.restype = ctypes.c_char_p
    version = system.ZSTD_versionString().decode()
    assert load(["cpkg.zstd"], "libzstd.so.1")["cpkg"] == library.split()[2]
    assert load(["cpkg.zstd"], CPKG_ZSTD_BACKEND="dlopen")["cpkg"] == version
