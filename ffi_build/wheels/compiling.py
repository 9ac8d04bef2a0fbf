# SPDX-License-Identifier: Apache-2.0
"""
Compile libzstd once for each target, and the native modules for each interpreter on each target.

gcc compiles and zig links. gcc's code for the decompressor is up to a fifth faster than that of zig's own compiler,
clang. zig brings a linker, the headers of both C libraries for every target and, for glibc, the symbols that an old
version of it had, so that one machine builds for all, and what it builds depends on that machine in its gcc alone.
Nothing of libzstd can be seen from outside of the module that it is linked into: other libraries in the process keep
to their own.
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
    # what some distributions have their gcc do by itself
    *("-U_FORTIFY_SOURCE", "-fno-stack-protector", "-fcf-protection=none"),
)
_COMMON_ZIG = ("-O3", "-fomit-frame-pointer", "-g0", "-DNDEBUG", "-fno-stack-protector")
_LIBZSTD = (
    *("-ffunction-sections", "-DZSTD_MULTITHREAD=1"),
    # hashing without functions of its own, as in libzstd's single file
    *("-DXXH_PRIVATE_API", "-DXXH_INLINE_ALL"),
    # what these mark would be visible, whatever -fvisibility says
    *("-DZSTDLIB_VISIBLE=", "-DZSTDERRORLIB_VISIBLE=", "-DZDICTLIB_VISIBLE="),
    # calls of functions that whoever else is in the process may have
    "-DZSTD_TRACE=0",
)
# as CPython compiles its own modules: signed overflow wraps
_MODULE = (
    *("-std=c11", "-D_GNU_SOURCE", "-fwrapv", "-Werror"),
    # each on a cache line of its own: otherwise one loop or the other takes 5 % longer, as chance has it
    *("-falign-functions=64", "-falign-loops=64", "-falign-jumps=64"),
)
_LINK = ("-s", "-Wl,--gc-sections", "-Wl,-Bsymbolic", "-Wl,-z,relro,-z,now")
# the one function of each module that an interpreter calls
_EXPORTS = "{ global: PyInit_*; _cffi_pypyinit_*; local: *; };\n"


class Compiler:
    """gcc and zig for one target; files below `folder` and `root` do not leave their paths in what they write."""

    def __init__(self, target: Target, folder: Path, root: Path) -> None:
        self.target = target
        self._root = root
        self._zig = [sys.executable, "-m", "ziglang"]
        cache = str(folder / "zig-cache")
        self._environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
        if not target.is_linux:  # zig compiles, too
            # a DLL shows nothing unless it is asked to
            hidden = () if target.libc == "windows" else ("-fvisibility=hidden",)
            self._compile = [*self._zig, "cc", "-target", target.zig, *_COMMON_ZIG, *hidden]
            self._compile += [f"-ffile-prefix-map={path}={name}" for path, name in ((folder, "build"), (root, "."))]
            return
        gcc = gcc_for(target)
        self._compile = [gcc, *_COMMON, *(() if target.architecture == "x86_64" else ("-mno-outline-atomics",))]
        self._compile += [f"-ffile-prefix-map={path}={name}" for path, name in ((folder, "build"), (root, "."))]
        # not this machine's own C library
        self._compile += ["-nostdinc", f"-isystem{_output(gcc, '-print-file-name=include').strip()}"]
        self._compile += self._headers(folder)

    def _headers(self, folder: Path) -> list[str]:
        """Return gcc's arguments for the headers of the target's C library, as zig gives them to its own compiler."""
        empty = folder / "empty.c"
        empty.write_text("", encoding="utf-8")
        command = [*self._zig, "cc", "-target", self.target.zig, "-v", "-c", str(empty), "-o", os.devnull]
        told = self._run(command).stderr
        found = re.findall(r"-isystem (\S+/libc/include/\S+)", told)
        minor = re.findall(r"-D (__GLIBC_MINOR__=\d+)", told)
        assert found, told
        return [*(f"-isystem{path}" for path in dict.fromkeys(found)), *(f"-D{each}" for each in dict.fromkeys(minor))]

    def compile(self, source: Path, result: Path, *arguments: str) -> None:
        """Compile in the tree that relative paths start from; raises SystemExit on failure."""
        self._run([*self._compile, *arguments, "-c", str(source), "-o", str(result)])

    def archive(self, path: Path, members: Iterable[Path]) -> None:
        """Write a static library, without the dates of its members."""
        path.unlink(missing_ok=True)
        self._run([*self._zig, "ar", "rcsD", str(path), *map(str, members)])

    def _link(self, *arguments: str | Path) -> None:
        self._run([*self._zig, "cc", "-target", self.target.zig, "-shared", *map(str, arguments)])

    def link_module(self, path: Path, exports: Path, *parts: Path) -> None:
        """Link an extension module, whose version script is `exports`, with the C library of the target."""
        if not self.target.is_linux:
            # on macOS the interpreter's functions are looked up when the module is loaded, wherever they are
            own = ("-Wl,-undefined,dynamic_lookup", f"-Wl,-install_name,{path.name}")
            self._link("-s", *(own if self.target.libc == "macos" else ()), *parts, "-o", path)
            return
        if self.target.libc == "glibc":
            libraries: tuple[str | Path, ...] = ("-pthread",)
        else:
            # zig's musl calls itself libc.so, systems with musl libc.musl-ARCHITECTURE.so.1: an empty library of that
            # name stands for it, so that the module is one that those systems could have made
            libraries = ("-nostdlib", "-Wl,--no-as-needed", self._named_libc(path.parent))
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
    """Return with what modules are made for a target: compiler, linker and their versions."""
    zig = _output(sys.executable, "-m", "ziglang", "version").strip()
    if not target.is_linux:
        return f"zig {zig} for {target.zig}"
    return f"{_output(gcc_for(target), '--version').splitlines()[0]}, zig {zig} for {target.zig}"


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _joined(sources: Path, folder: Path) -> Path:
    """
    Write a unit that includes libzstd's compressor and decompressor.

    As in libzstd's own single file, gcc inlines across what are files of their own otherwise: small content is
    compressed in 3 to 5 % less time. Files of the dictionary builder define the same names and stay apart.
    """
    parts = [path for part in ("common", "compress", "decompress") for path in sorted((sources / part).glob("*.c"))]
    unit = folder / "joined.c"
    unit.write_text("".join(f'#include "{path.relative_to(sources)}"\n' for path in parts), encoding="utf-8")
    return unit


def build_libzstd(compiler: Compiler, sources: Path, folder: Path, pool: Executor) -> Path:
    """Return libzstd as a static library; `sources` is the folder of its release's lib."""
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
    Have cffi write the C source of each module for each implementation of Python, and for CPython on no Linux.

    `libraries` are the folders of headers per codec. cffi's output depends on the declarations alone, not on the
    interpreter that it runs on.
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
            with contextlib.redirect_stdout(io.StringIO()):  # it prints each file
                extension = builder.distutils_extension(str(place), verbose=False)
            units[codec, kind] = Unit(extension)
    return units


class Unit:
    """The C source of a module, with the arguments that it is compiled with."""

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
    """Return a native module for an interpreter on the compiler's target, linked with static libraries."""
    folder.mkdir(parents=True, exist_ok=True)
    exports = folder / "exports"
    exports.write_text(_EXPORTS, encoding="utf-8")
    module = folder / (unit.name.rpartition(".")[2] + interpreter.suffix_for(compiler.target))
    compiled = module.with_suffix(".o")
    options = _MODULE if compiler.target.is_linux else _MODULE[:4]
    compiler.compile(unit.source, compiled, *options, f"-isystem{headers}", *unit.arguments)
    compiler.link_module(module, exports, compiled, *archives)
    return module
