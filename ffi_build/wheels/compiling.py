# SPDX-License-Identifier: Apache-2.0
"""
Compile libzstd once for each target, and the native modules for each interpreter on each target.

For Linux, gcc compiles and zig links; for other systems, zig does both. For the decompressor, gcc's code is up to a
fifth faster than the code of zig's compiler, clang. zig provides a linker, the headers of both C libraries for every
target, and the symbols of an old glibc. So one machine builds for all targets, and the result depends only on the
versions of gcc and zig. A module does not export any name of libzstd, so that other libraries in the process use their
own libzstd.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import Executor
from pathlib import Path

from ffi_build import msgpack_build, zstd_build
from ffi_build.probe import FoundLibrary
from ffi_build.wheels.interpreters import Interpreter
from ffi_build.wheels.sources import MSGPACK, ZSTD
from ffi_build.wheels.targets import Target, gcc_for

CODECS = ("msgpack", "zstd")

_COMMON = (
    *("-O3", "-fPIC", "-fvisibility=hidden", "-fomit-frame-pointer", "-g0", "-DNDEBUG"),
    # undo defaults that some distributions set in gcc
    *("-U_FORTIFY_SOURCE", "-fno-stack-protector", "-fcf-protection=none"),
)
_COMMON_ZIG = ("-O3", "-fomit-frame-pointer", "-g0", "-DNDEBUG", "-fno-stack-protector")
_LIBZSTD = (
    *("-ffunction-sections", "-DZSTD_MULTITHREAD=1"),
    # inline all hash functions, as in the single-file libzstd
    *("-DXXH_PRIVATE_API", "-DXXH_INLINE_ALL"),
    # these macros would make names visible in spite of -fvisibility
    *("-DZSTDLIB_VISIBLE=", "-DZSTDERRORLIB_VISIBLE=", "-DZDICTLIB_VISIBLE="),
    # do not call trace functions, which another library in the process may define
    "-DZSTD_TRACE=0",
)
# -fwrapv: signed overflow wraps, as in CPython's own modules
_MODULE = (
    *("-std=c11", "-D_GNU_SOURCE", "-fwrapv", "-Werror"),
    # align to cache lines: otherwise loops may be up to 5 % slower, depending on their position
    *("-falign-functions=64", "-falign-loops=64", "-falign-jumps=64"),
)
_LINK = ("-s", "-Wl,--gc-sections", "-Wl,-Bsymbolic", "-Wl,-z,relro,-z,now")
# a module exports only the function that an interpreter calls to import it
_EXPORTS = "{ global: PyInit_*; _cffi_pypyinit_*; local: *; };\n"


class Compiler:
    """The compiler and linker (gcc, zig) for one target; their output contains no paths below `folder` and `root`."""

    def __init__(self, target: Target, folder: Path, root: Path) -> None:
        self.target = target
        self._root = root
        self._zig = [sys.executable, "-m", "ziglang"]
        cache = str(folder / "zig-cache")
        self._environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
        if not target.is_linux:  # zig also compiles
            # a DLL exports nothing by default
            hidden = () if target.libc == "windows" else ("-fvisibility=hidden",)
            self._compile = [*self._zig, "cc", "-target", target.zig, *_COMMON_ZIG, *hidden]
            self._compile += [f"-ffile-prefix-map={path}={name}" for path, name in ((folder, "build"), (root, "."))]
            return
        gcc = gcc_for(target)
        self._compile = [gcc, *_COMMON, *target.arguments]
        self._compile += [f"-ffile-prefix-map={path}={name}" for path, name in ((folder, "build"), (root, "."))]
        # do not use the headers of this machine's C library
        self._compile += ["-nostdinc", f"-isystem{_output(gcc, '-print-file-name=include').strip()}"]
        self._compile += self._headers(folder)

    def _headers(self, folder: Path) -> list[str]:
        """Return gcc arguments for the headers of the target's C library: those that zig gives to its own compiler."""
        empty = folder / "empty.c"
        empty.write_text("", encoding="utf-8")
        command = [*self._zig, "cc", "-target", self.target.zig, "-v", "-c", str(empty), "-o", os.devnull]
        told = self._run(command).stderr
        found = re.findall(r"-isystem (\S+/libc/include/\S+)", told)
        minor = re.findall(r"-D (__GLIBC_MINOR__=\d+)", told)
        if not found:
            raise SystemExit(f"expected the headers of {self.target.zig} from zig, found none:\n{told}")
        return [*(f"-isystem{path}" for path in dict.fromkeys(found)), *(f"-D{each}" for each in dict.fromkeys(minor))]

    def compile(self, source: Path, result: Path, *arguments: str) -> None:
        """
        Compile the file `source` to the object file `result`; relative paths start from the root.

        Raises SystemExit on failure.
        """
        self._run([*self._compile, *arguments, "-c", str(source), "-o", str(result)])

    def archive(self, path: Path, members: Iterable[Path]) -> None:
        """Write a static library, without the dates of its members."""
        path.unlink(missing_ok=True)
        self._run([*self._zig, "ar", "rcsD", str(path), *map(str, members)])

    def _link(self, *arguments: str | Path) -> None:
        self._run([*self._zig, "cc", "-target", self.target.zig, "-shared", *map(str, arguments)])

    def link_module(self, path: Path, exports: Path, *parts: Path) -> None:
        """Link `parts` into the extension module `path` for the target; only Linux uses `exports`, a version script."""
        if not self.target.is_linux:
            # on macOS, the functions of the interpreter are looked up when the module is loaded
            own = ("-Wl,-undefined,dynamic_lookup", f"-Wl,-install_name,{path.name}")
            self._link("-s", *(own if self.target.libc == "macos" else ()), *parts, "-o", path)
            return
        if self.target.libc == "glibc":
            libraries: tuple[str | Path, ...] = ("-pthread",)
        else:
            # The soname of zig's musl is libc.so, but systems with musl use libc.musl-ARCHITECTURE.so.1. Linking with
            # an empty library of the latter name gives the module the right dependency. zig's runtime replaces gcc's
            # own library, which gcc calls for atomic operations on riscv64.
            libraries = ("-nostdlib", "-rtlib=compiler-rt", "-Wl,--no-as-needed", self._named_libc(path.parent))
        self._link(*_LINK, f"-Wl,--version-script={exports}", *parts, *libraries, "-o", path)

    def _named_libc(self, folder: Path) -> Path:
        source, library = folder / "empty.c", folder / "libc.so"
        source.write_text("", encoding="utf-8")
        soname = f"libc.musl-{self.target.architecture}.so.1"
        self._link("-nostdlib", f"-Wl,-soname,{soname}", source, "-o", library)
        return library

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            command, cwd=self._root, env=self._environment, capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
        return result


def describe(target: Target) -> str:
    """Return the names and versions of the compiler and the linker for a target."""
    zig = _output(sys.executable, "-m", "ziglang", "version").strip()
    if not target.is_linux:
        return f"zig {zig} for {target.zig}"
    return f"{_output(gcc_for(target), '--version').splitlines()[0]}, zig {zig} for {target.zig}"


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _joined(sources: Path, folder: Path) -> Path:
    """
    Write one C file that includes libzstd's compressor, decompressor and common files, and return its path.

    As in the single-file libzstd, gcc can then inline across files, which saves 3 to 5 % of the time for small content.
    The files of the dictionary builder define the same names and must stay separate.
    """
    parts = [path for part in ("common", "compress", "decompress") for path in sorted((sources / part).glob("*.c"))]
    unit = folder / "joined.c"
    unit.write_text("".join(f'#include "{path.relative_to(sources)}"\n' for path in parts), encoding="utf-8")
    return unit


def build_libzstd(compiler: Compiler, sources: Path, folder: Path, pool: Executor) -> Path:
    """Build libzstd as a static library and return its path; `sources` is the folder `lib` of its release."""
    folder.mkdir(parents=True, exist_ok=True)
    units = [_joined(sources, folder), *sorted((sources / "dictBuilder").glob("*.c"))]
    if compiler.target.architecture == "x86_64":
        units.append(sources / "decompress" / "huf_decompress_amd64.S")
    objects = [folder / (path.name + ".o") for path in units]

    def compile_unit(unit: Path, result: Path) -> None:
        compiler.compile(unit, result, *_LIBZSTD, f"-I{sources}")

    list(pool.map(compile_unit, units, objects))
    library = folder / "libzstd.a"
    compiler.archive(library, sorted(objects))
    return library


def write_module_sources(folder: Path, libraries: dict[str, Path]) -> dict[tuple[str, str], Unit]:
    """
    Write the C source of each module for CPython and PyPy, and for CPython on systems other than Linux.

    Returns the units by codec and kind: "cpython", "pypy" or "elsewhere". `libraries` has the folder of headers per
    codec. The output of cffi depends only on the declarations, not on the interpreter that runs it.
    """
    versions = {"msgpack": MSGPACK.version, "zstd": ZSTD.version}
    make = {"msgpack": msgpack_build.make_builder, "zstd": zstd_build.make_builder}
    units = {}
    for codec in CODECS:
        library = FoundLibrary(codec, "bundled", True, versions[codec], include_dirs=[str(libraries[codec])])
        for kind in ("cpython", "pypy", "elsewhere"):
            place = folder / kind
            place.mkdir(parents=True, exist_ok=True)
            if (codec, kind) == ("zstd", "elsewhere"):
                builder = zstd_build.make_builder(library, "cpython", kind)
            else:
                builder = make[codec](library, "cpython" if kind == "elsewhere" else kind)
            with contextlib.redirect_stdout(io.StringIO()):  # cffi prints the name of each file
                extension = builder.distutils_extension(str(place), verbose=False)
            units[codec, kind] = Unit(extension)
    return units


class Unit:
    """The C source of a module and the compiler arguments for it."""

    def __init__(self, extension: object) -> None:
        self.name: str = extension.name  # type: ignore[attr-defined]
        self.source = Path(extension.sources[0]).resolve()  # type: ignore[attr-defined]
        macros = extension.define_macros  # type: ignore[attr-defined]
        self.arguments = [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in macros]
        self.arguments += [f"-I{path}" for path in extension.include_dirs]  # type: ignore[attr-defined]
        self.arguments += extension.extra_compile_args  # type: ignore[attr-defined]


def build_module(
    compiler: Compiler, interpreter: Interpreter, headers: Path, unit: Unit, archives: list[Path], folder: Path
) -> Path:
    """Build a native module for an interpreter on the compiler's target, with static libraries; return its path."""
    exports = folder / "exports"
    exports.write_text(_EXPORTS, encoding="utf-8")
    module = folder / (unit.name.rpartition(".")[2] + interpreter.suffix_for(compiler.target))
    compiled = module.with_suffix(".o")
    options, arguments = [*_MODULE], unit.arguments
    if not compiler.target.is_linux:
        # clang ignores one of the alignment options, and for Windows on arm64 it fails with the option for loops
        options = options[:4]
        arguments = [argument for argument in arguments if not argument.startswith("-falign-")]
    compiler.compile(unit.source, compiled, *options, f"-isystem{headers}", *arguments)
    compiler.link_module(module, exports, compiled, *archives)
    return module
