# SPDX-License-Identifier: Apache-2.0
"""
Import the MessagePack code for PyPy (`cpkg/_native/msgpack/pypy/`) on CPython, to test it there also.

CPython's wheels do not have the C module that this code needs; the first test that uses the module compiles it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from extent import IS_FULL, IS_PYPY

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "cpkg._native.msgpack.pypy"
SHIPPED = "cpkg._native._msgpack_ffi"
NAME = "_msgpack_pypy_parts"


def pypy_part(name: str) -> Any:
    """Return a module of the code for PyPy; skip the test if the native module or the C source is missing."""
    pytest.importorskip(SHIPPED, reason="the native module is not built")
    if not IS_PYPY:
        if not IS_FULL:
            pytest.skip("PyPy's code is tested on one version of CPython only", allow_module_level=True)
        if not (ROOT / "ffi_build").exists():
            pytest.skip("the C sources are not beside the tests", allow_module_level=True)
        load()
    return importlib.import_module(f"{PACKAGE}.{name}")


@functools.cache
def load() -> None:
    """Import all modules for PyPy with the C module that `compiled` returns instead of the shipped module."""
    shipped = sys.modules[SHIPPED]
    sys.modules[SHIPPED] = compiled()
    try:
        for path in sorted((ROOT / "cpkg/_native/msgpack/pypy").glob("[a-z]*.py")):
            if path.stem != "backend":  # the backend's names differ on CPython
                importlib.import_module(f"{PACKAGE}.{path.stem}")
    finally:
        sys.modules[SHIPPED] = shipped


def compiled() -> Any:
    """Compile the C module if its sources have changed, and import it."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from ffi_build import msgpack_build, probe

    flags = [flag for name, _ in probe.REQUIREMENTS["msgpack"].candidates for flag in probe._pkg_config(name)[0] or []]
    include = [flag[2:] for flag in flags if flag[:2] == "-I"]
    library = probe.FoundLibrary("msgpack", "for tests", True, include_dirs=include)
    builder = msgpack_build.make_builder(library, "pypy", NAME)
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    more = builder._assigned_source[3]
    compiler += ["-O1", "-fPIC", "-shared", f"-I{sysconfig.get_path('include')}"]
    compiler += [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in more["define_macros"]]
    compiler += [f"-I{path}" for path in more["include_dirs"]]
    compiler += shlex.split(os.environ.get("CFLAGS", ""))
    digest = hashlib.sha256(" ".join(compiler).encode())
    for folder in ("common", "msgpack"):
        for path in sorted((ROOT / "ffi_build" / folder).rglob("*.[ch]")):
            digest.update(path.read_bytes())
    folder = ROOT / "build" / "pypy_parts" / digest.hexdigest()[:16]
    target = folder / (NAME + sysconfig.get_config_var("EXT_SUFFIX"))
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / f"{os.getpid()}.c"
        builder.emit_c_code(str(source))
        made = source.with_suffix(".so")
        subprocess.run([*compiler, str(source), "-o", str(made)], cwd=ROOT, check=True)
        made.replace(target)
        source.unlink()
    spec: Any = importlib.util.spec_from_file_location(NAME, target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
