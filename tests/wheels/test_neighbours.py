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

import pytest
from backends import available
from processes import run_python

import cpkg

NEIGHBOURS = ("zstandard", "pyzstd", "backports.zstd", "compression.zstd")
REQUIRED = [name for name in os.environ.get("CPKG_TEST_NEIGHBOURS", "").split(",") if name]

pytestmark = pytest.mark.skipif("native" not in available("zstd"), reason="needs the native backend")

CHECK = """
import ctypes, importlib, json, sys
order, system = json.loads(sys.argv[1])
if system:
    # its symbols are before everybody else's from here on, for whoever looks among the global ones
    ctypes.CDLL(system, ctypes.RTLD_GLOBAL)
modules = {name: importlib.import_module(name) for name in order}
text = b"".join(b"line %d of some text\\n" % number for number in range(5000))
import cpkg
told = {"cpkg": cpkg.backend_info()["zstd"].library.split()[-1]}
frames = {}
for name, module in modules.items():
    if name == "zstandard":
        told[name] = ".".join(map(str, module.ZSTD_VERSION))
        frames[name] = module.ZstdCompressor(level=3).compress(text)
    else:
        told.setdefault(name, getattr(module, "zstd_version", None))
        frames[name] = module.compress(text, 3)
for name, module in modules.items():
    decompress = module.ZstdDecompressor().decompress if name == "zstandard" else module.decompress
    for other, frame in frames.items():
        assert decompress(frame) == text, (name, other)
told.pop("cpkg.zstd", None)
print(json.dumps(told))
"""

# contents that take different ways through the compressor, at levels of each strategy
SAME = """
import importlib, itertools, json, random, sys
from cpkg import zstd

random.seed(7)
lines = b"".join(b"line %d of some text, %d\\n" % (number, number * number % 977) for number in range(12000))
noise = random.randbytes(300_000)
mixed = b"".join(noise[at : at + at % 5000] + lines[at : at + at % 700] for at in range(0, 200_000, 977))
with open(sys.executable, "rb") as file:
    code = file.read(300_000)
contents = {"text": lines, "noise": noise, "noise and text": mixed, "code": code, "zeros": bytes(300_000)}
sizes = (0, 100, 5000, 65536, 70_000, 300_000)
(names,) = json.loads(sys.argv[1])
for name in names:
    module = importlib.import_module(name)
    for level in (-7, -1, 1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 19):
        compress = module.ZstdCompressor(level=level).compress if name == "zstandard" else None
        for (kind, content), size in itertools.product(contents.items(), sizes):
            value = content[:size]
            theirs = compress(value) if compress else module.compress(value, level)
            assert zstd.compress(value, level) == theirs, (name, level, kind, size)
"""


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


def run(script: str, *arguments: object, **environment: str) -> str:
    """Run a script in a process of its own, in which backends are chosen as by default; return what it prints."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CPKG_")}
    result = run_python("-I", "-c", script, json.dumps(arguments), env={**clean, **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout


def load(order: list[str], system: str | None = None, **environment: str) -> dict[str, str]:
    """Load libraries in a process of their own, have each read what all have written, and return their versions."""
    versions: dict[str, str] = json.loads(run(CHECK, order, system, **environment))
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
    run(SAME, same)


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
