# SPDX-License-Identifier: Apache-2.0
"""
Add the native modules that can be built here, and record why the others cannot.

Everything else about the package is in pyproject.toml. The files that the build writes, `cpkg/_build_info.py`,
the ABI-mode `cpkg/_native/_zstd_abi.py` and the stub of `purepy/msgpack`, need no compiler and are always there.
"""

from __future__ import annotations

import platform
import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import BaseError, CCompilerError

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # build isolation leaves the project's folder out

from ffi_build import build_info, index_page, msgpack_stub, probe, zstd_build  # noqa: E402

MODE = probe.mode()
FOUND = {codec: probe.find(codec) for codec in ("msgpack", "zstd")}
# what build_ext failed at in spite of the probe: codec -> reason
FAILED: dict[str, str] = {}

if MODE == "require":
    for library in FOUND.values():
        probe.demand(library, f"{probe.ENVIRONMENT}=require, but ")


def write_build_info(folder: Path) -> None:
    """Write the module that says at run time which modules were built, and why others were not."""
    codecs = {
        codec: build_info.record(
            native=library.usable and codec not in FAILED,
            reason=FAILED.get(codec, library.reason),
            version=library.version,
            advice=probe.advice(codec),
        )
        for codec, library in FOUND.items()
    }
    path = folder / "cpkg" / "_build_info.py"
    if folder == ROOT:
        codecs = build_info.with_others(path, codecs)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(build_info.text(MODE, f"{platform.python_implementation()} {platform.python_version()}", codecs))


class BuildPy(build_py):
    """Copy the Python files, and write those that are generated."""

    def run(self) -> None:
        folder = ROOT
        if not getattr(self, "editable_mode", False):
            folder = Path(self.build_lib)
            # what an earlier build left there, perhaps for another backend, would go into this wheel
            shutil.rmtree(folder, ignore_errors=True)
        super().run()
        write_build_info(folder)
        msgpack_stub.write(folder)
        (folder / "cpkg" / "_native").mkdir(parents=True, exist_ok=True)
        zstd_build.abi_builder.emit_python_code(str(folder / "cpkg" / "_native" / "_zstd_abi.py"))


class BuildExt(build_ext):
    """Build the extensions; in `auto` mode one that fails is left out, with its reason on record."""

    def build_extension(self, ext) -> None:  # type: ignore[no-untyped-def]
        try:
            super().build_extension(ext)
        except (CCompilerError, BaseError, OSError, ValueError) as exc:
            if MODE == "require":
                raise
            codec = "zstd" if "zstd" in ext.name else "msgpack"
            FAILED[codec] = f"the probe passed, but the build failed: {exc}"
            print(f"{'*' * 75}\nWARNING: {ext.name} was left out: {exc}\n{'*' * 75}", file=sys.stderr)
            # a stale or half-written module must not be taken for the result
            Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)
            write_build_info(ROOT if self.inplace else Path(self.build_lib))

    def get_outputs(self) -> list[str]:
        return [path for path in super().get_outputs() if Path(path).exists()]

    def copy_extensions_to_source(self) -> None:
        self.extensions = [
            ext for ext in self.extensions if Path(self.build_lib, self.get_ext_filename(ext.name)).exists()
        ]
        super().copy_extensions_to_source()


for library in FOUND.values():
    # Printed where `pip install -v` shows it; the same text is in cpkg.backend_info() afterwards.
    print(f"cpkg: native {library.codec}: {library.reason}", file=sys.stderr)

readme, project = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "pyproject.toml"))

setup(
    long_description=index_page.index_page(readme, index_page.address(project)),
    long_description_content_type="text/markdown",
    cffi_modules=[f"ffi_build/{codec}_build.py:ffibuilder" for codec, library in FOUND.items() if library.usable],
    cmdclass={"build_py": BuildPy, "build_ext": BuildExt},
)
