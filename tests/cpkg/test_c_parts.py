# SPDX-License-Identifier: Apache-2.0
"""Each part of the C source includes what it needs: an editor, or the compiler, takes it by itself."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from extent import IS_FULL

sys.path.append(str(Path(__file__).resolve().parents[2]))

from ffi_build import documentation

SOURCES = Path(__file__).resolve().parents[2] / "ffi_build"
# the folders whose parts are held to it
FOLDERS = ["common", "msgpack", "zstd", "archive"]

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
    pytest.mark.skipif(not IS_FULL, reason="the headers of one version of CPython serve: all are compiled whole"),
]


def parts() -> list[str]:
    """List them; what cffi reads (cdef) is no C of its own."""
    found = (path for folder in FOLDERS for path in (SOURCES / folder).rglob("*.[ch]"))
    return sorted(str(path.relative_to(SOURCES)) for path in found if "cdef" not in path.name)


def flags() -> list[str]:
    found = [f"-I{sysconfig.get_path('include')}"]
    for name in ("msgpack", "msgpack-c", "libzstd"):
        result = subprocess.run(["pkg-config", "--cflags", name], capture_output=True, text=True, check=False)
        found += shlex.split(result.stdout) if result.returncode == 0 else []
    return found


def test_each_part_compiles_alone(tmp_path: Path) -> None:
    units = []
    for number, part in enumerate(parts()):
        units.append(tmp_path / f"{number}.c")
        # its guard makes the second one empty
        units[-1].write_text(f'#include "{SOURCES / part}"\n' * 2, encoding="utf-8")
    # what the builder puts in front of each module
    macros = tmp_path / "documentation.h"
    macros.write_text("".join(map(documentation.macros, documentation.TWINS)), encoding="utf-8")
    strict = ["-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    command = ["gcc", *strict, "-include", macros, *flags(), *units]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert len(units) > 50
    assert result.returncode == 0, result.stderr
