# SPDX-License-Identifier: Apache-2.0
"""The C source as compilers see it: each part by itself, and the code that only builds without the GIL have."""

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
    """Have gcc check sources, without compiling them."""
    flags = ["-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    flags.append(f"-I{sysconfig.get_path('include')}")
    for name in ("msgpack", "msgpack-c", "libzstd"):
        found = subprocess.run(["pkg-config", "--cflags", name], capture_output=True, text=True, check=False)
        flags += shlex.split(found.stdout) if found.returncode == 0 else []
    result = subprocess.run(["gcc", *flags, *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.once
@pytest.mark.nightly  # a compiler's process for each part
def test_each_part_compiles_alone(tmp_path: Path) -> None:
    """A part includes what it needs, so that an editor understands it. What cffi reads (cdef) is not C by itself."""
    parts = [path for folder in ("common", "msgpack", "zstd", "archive") for path in (SOURCES / folder).rglob("*.[ch]")]
    units = []
    for number, part in enumerate(sorted(part for part in parts if "cdef" not in part.name)):
        units.append(tmp_path / f"{number}.c")
        # the guard of the part makes the second one empty
        units[-1].write_text(f'#include "{part}"\n' * 2, encoding="utf-8")
    # the builder puts these macros in front of each module
    macros = tmp_path / "documentation.h"
    macros.write_text("".join(map(documentation.macros, documentation.TWINS)), encoding="utf-8")
    assert len(units) > 50
    check("-D_GNU_SOURCE", "-include", macros, *units)


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or sys.version_info < (3, 13), reason="CPython 3.13 was the first without GIL"
)
@pytest.mark.parametrize("codec", ["msgpack", "zstd"])
def test_compiles_without_the_gil(codec: str, tmp_path: Path) -> None:
    """Few machines have such a build."""
    unit = tmp_path / "unit.c"
    unit.write_text(f'#include <Python.h>\n{documentation.macros(codec)}#include "module.c"\n', encoding="utf-8")
    # cffi adds code that uses all functions of the module: it is missing here
    check("-Wno-unused-parameter", "-DPy_GIL_DISABLED=1", f"-I{SOURCES / codec}", unit)
