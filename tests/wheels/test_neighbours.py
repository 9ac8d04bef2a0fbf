# SPDX-License-Identifier: Apache-2.0
"""
Several libraries in one process, each with its own libzstd: each uses its own, in any order of imports.

CPKG_TEST_NEIGHBOURS names the required libraries (see the wheel rows of tox.ini); by default, the installed ones are
used.
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
    """Run a script of this folder in a new process, with the default backends; return its output."""
    script = Path(__file__).with_name(f"neighbours_{name}.txt").read_text(encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CPKG_")}
    result = run_python("-I", "-c", script, json.dumps(arguments), env={**clean, **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout


def load(order: list[str], system: str | None = None, **environment: str) -> dict[str, str]:
    """Load libraries in a new process, let each read the output of all, and return their versions."""
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
    """This holds although the libzstd in our wheels is patched (`ffi_build/wheels/patches`)."""
    own = load(["cpkg.zstd"])["cpkg"]
    # pyzstd 0.18, the last version for Python 3.9, compresses as a stream, which gives other blocks
    same = [name for name in present() if name != "pyzstd" and load([name])[name] == own]
    assert same or not REQUIRED, f"none of {', '.join(REQUIRED)} has libzstd {own}"
    if not same:
        pytest.skip("no other library with this version of libzstd is here")
    run("same", same)


@pytest.mark.skipif(ctypes.util.find_library("zstd") is None, reason="this system has no libzstd")
def test_a_bundled_library_is_not_mistaken_for_the_system_s() -> None:
    """This holds even if its names come first, because the module in a wheel does not look for names outside itself."""
    library = cpkg.backend_info()["zstd"].library
    if library is None or not library.startswith("bundled"):
        pytest.skip("this build links the system's library")
    system = ctypes.CDLL("libzstd.so.1")
    system.ZSTD_versionString.restype = ctypes.c_char_p
    version = system.ZSTD_versionString().decode()
    assert load(["cpkg.zstd"], "libzstd.so.1")["cpkg"] == library.split()[2]
    assert load(["cpkg.zstd"], CPKG_ZSTD_BACKEND="dlopen")["cpkg"] == version
