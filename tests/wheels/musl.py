# SPDX-License-Identifier: Apache-2.0
"""
Create a root file system with musl and CPython.

Debian has no interpreter for musl, so CPython and zlib are compiled from the sources of its stable release, with the
musl and clang of zig, as a program for this machine. Debian's package musl, which must be installed, runs it.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from ffi_build.wheels.sources import apt_for, run, unpack

PYTHON = "python3.13"
LOADER = Path("/lib/ld-musl-x86_64.so.1")

# Modules that are not needed to install and test a wheel, and that would be linked with libraries of this machine.
_LEFT_OUT = ("_bz2", "_ctypes", "_curses", "_curses_panel", "_dbm", "_gdbm", "_hashlib", "_lzma", "_sqlite3", "_ssl")
_LEFT_OUT += ("_tkinter", "_uuid", "nis", "readline")
_ANSWERS = {
    **{f"py_cv_module_{name}": "n/a" for name in _LEFT_OUT},
    "ac_cv_header_lzma_h": "no",
    "ac_cv_header_bzlib_h": "no",
    # newer than the musl of Debian 12
    "ac_cv_func_preadv2": "no",
    "ac_cv_func_pwritev2": "no",
}


def make_root(root: Path, work: Path) -> None:
    """Create the root; `work` is a folder for intermediate files, which is removed at the end."""
    if not LOADER.exists():
        raise SystemExit(f"no {LOADER} here: apt-get install musl")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    sources = {name: _unpack(name, work) for name in ("zlib", PYTHON)}
    environment = _tools(work)
    zlib = sources["zlib"]
    run(["./configure", "--static"], zlib, **environment, CFLAGS="-O2 -fPIC")
    run(["make", "libz.a"], zlib, **environment)
    options = ["--prefix=/usr", "--disable-test-modules", "--without-ensurepip", "OPT=-DNDEBUG -g0 -O1"]
    flags = {"CPPFLAGS": f"-I{zlib}", "LDFLAGS": f"-L{zlib}"}
    run(["./configure", *options], sources[PYTHON], **environment, **_ANSWERS, **flags)
    run(["make", f"-j{os.cpu_count()}"], sources[PYTHON], **environment)
    run(["make", "install", f"DESTDIR={root}"], sources[PYTHON], **environment)
    for folder in ("lib", "opt", "proc", "root", "tmp"):
        (root / folder).mkdir()
    shutil.copy(LOADER, root / "lib")
    shutil.rmtree(work)


def _unpack(package: str, work: Path) -> Path:
    """Return the sources of a Debian package as their authors released them."""
    folder = work / package
    folder.mkdir()
    with apt_for(folder / "apt", "deb-src") as apt:
        run([*apt, "source", "--download-only", package], folder)
    # there may also be a signature
    archive = next(path for path in folder.glob("*.orig.tar.*") if path.suffix != ".asc")
    unpack(archive, folder)
    return next(path for path in folder.iterdir() if path.is_dir())


def _tools(work: Path) -> dict[str, str]:
    """Return the environment in which configure and make find the compiler of zig."""
    tools = {}
    for name, arguments in (
        ("cc", "-target x86_64-linux-musl -dynamic -fno-sanitize=undefined -Wno-date-time"),
        ("ar", ""),
        ("ranlib", ""),
    ):
        path = work / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable} -m ziglang {name} {arguments} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
        tools[name.upper()] = str(path)
    cache = str(work / "zig-cache")
    # configure recognises musl by macros in its stdarg.h, but clang has its own stdarg.h
    return {
        **tools,
        "CPP": f"{tools['CC']} -E -D__DEFINED_va_list",
        "ZIG_GLOBAL_CACHE_DIR": cache,
        "ZIG_LOCAL_CACHE_DIR": cache,
    }
