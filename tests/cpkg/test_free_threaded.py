# SPDX-License-Identifier: Apache-2.0
"""Code for builds without the GIL alone is checked by the compiler here, though few machines can run it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from ffi_build.documentation import macros

SOURCES = Path(__file__).resolve().parents[2] / "ffi_build"

pytestmark = [
    pytest.mark.skipif(
        sys.implementation.name != "cpython" or sys.version_info < (3, 13),
        reason="only CPython 3.13 and newer drop the GIL",
    ),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]


@pytest.mark.parametrize(("codec", "library"), [("msgpack", "msgpack"), ("zstd", "libzstd")])
def test_compiles_without_the_gil(codec: str, library: str, tmp_path: Path) -> None:
    unit = tmp_path / "unit.c"
    unit.write_text(f'#include <Python.h>\n{macros(codec)}#include "module.c"\n', encoding="utf-8")
    flags = []
    for name in (library, f"{library}-c"):
        found = subprocess.run(["pkg-config", "--cflags", name], capture_output=True, text=True, check=False)
        flags += shlex.split(found.stdout) if found.returncode == 0 else []
    command = ["gcc", "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    # cffi's part of the module, which uses the functions of ours, is not there
    command += ["-Wno-unused-function", "-Wno-unused-parameter", "-DPy_GIL_DISABLED=1", *flags]
    command += [f"-I{SOURCES / codec}", f"-I{sysconfig.get_path('include')}", str(unit)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
