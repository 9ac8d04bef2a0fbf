# SPDX-License-Identifier: Apache-2.0
"""Compile the C source: each part by itself, and the code that only builds without the GIL use."""

from __future__ import annotations

import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from processes import needs

sys.path.append(str(Path(__file__).resolve().parents[2]))

from ffi_build import documentation

SOURCES = Path(__file__).resolve().parents[2] / "ffi_build"

pytestmark = needs("gcc", "pkg-config")


def check(*arguments: str | Path) -> None:
    """Let gcc check sources, without compiling them."""
    flags = ["-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    flags.append(f"-I{sysconfig.get_path('include')}")
    for name in ("msgpack", "msgpack-c", "libzstd"):
        found = subprocess.run(["pkg-config", "--cflags", name], capture_output=True, text=True, check=False)
        flags += shlex.split(found.stdout) if found.returncode == 0 else []
    result = subprocess.run(["gcc", *flags, *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.once
@pytest.mark.nightly  # a compiler process for each part
def test_each_part_compiles_separately(tmp_path: Path) -> None:
    """A part includes what it needs, so that editors understand it; cdef files for cffi are not valid C alone."""
    parts = [path for folder in ("common", "msgpack", "zstd", "archive") for path in (SOURCES / folder).rglob("*.[ch]")]
    units = []
    for number, part in enumerate(sorted(part for part in parts if "cdef" not in part.name)):
        units.append(tmp_path / f"{number}.c")
        # the include guard makes the second inclusion empty
        units[-1].write_text(f'#include "{part}"\n' * 2, encoding="utf-8")
    # the builder puts these macros before each module
    macros = tmp_path / "documentation.h"
    macros.write_text("".join(map(documentation.macros, documentation.TWINS)), encoding="utf-8")
    assert len(units) > 50
    check("-D_GNU_SOURCE", "-include", macros, *units)


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or sys.version_info < (3, 13), reason="CPython 3.13 was the first without GIL"
)
@pytest.mark.parametrize("codec", ["msgpack", "zstd"])
def test_compiles_without_the_gil(codec: str, tmp_path: Path) -> None:
    """Few machines have a build without the GIL, so only the compilation is tested."""
    unit = tmp_path / "unit.c"
    unit.write_text(f'#include <Python.h>\n{documentation.macros(codec)}#include "module.c"\n', encoding="utf-8")
    # without the code that cffi adds, functions of the module are unused here
    check("-Wno-unused-parameter", "-DPy_GIL_DISABLED=1", f"-I{SOURCES / codec}", unit)
