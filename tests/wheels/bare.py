# SPDX-License-Identifier: Apache-2.0
"""
Install the wheels of dist/ in bare systems, without a network, and test them there.

Run `python tests/wheels/bare.py [SYSTEM...]` as root on Debian, with debootstrap installed. A system is a root file
system with a Python interpreter and pip, or only pypy3; it has no compiler and no libzstd. For each interpreter, the
wheel and its dependencies are installed offline; then `cpkg demo` and smoke.py run without a network. Systems of
another architecture run in qemu (qemu-user-static). The interpreter for musl is compiled first, which takes minutes.
The roots are kept for the next run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from ffi_build.wheels.sources import MSGPACK, ZSTD, apt_for, run, unpack  # noqa: E402

# The folders for wheels and for installation in a root; the interpreter's own folders belong to the distribution.
WHEELS = "/opt/wheels"
PLACE = "/opt/cpkg"
MUSL = "musl"
MUSL_PYTHON = "python3.13"
MUSL_LOADER = Path("/lib/ld-musl-x86_64.so.1")

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
MACHINES = {"amd64": "x86_64", "arm64": "aarch64", "ppc64el": "ppc64le", "s390x": "s390x"}
"""Debian's architecture names, and the names that wheels and qemu use."""


class System(NamedTuple):
    """A release of Debian with interpreters, by the names of their programs and packages, or a system with musl."""

    suite: str
    architecture: str
    interpreters: tuple[str, ...]


SYSTEMS = {
    "debian-11": System("bullseye", "amd64", ("python3",)),
    "debian-12": System("bookworm", "amd64", ("python3", "pypy3")),
    "debian-13": System("trixie", "amd64", ("python3",)),
    "sid": System("sid", "amd64", ("python3.14", "python3.15", "pypy3")),
    "musl": System(MUSL, "amd64", (MUSL_PYTHON,)),
    "debian-12-arm64": System("bookworm", "arm64", ("python3", "pypy3")),
    "debian-13-arm64": System("trixie", "arm64", ("python3",)),
    "debian-12-ppc64el": System("bookworm", "ppc64el", ("python3",)),
    "debian-12-s390x": System("bookworm", "s390x", ("python3",)),
}


def make_root(system: System, root: Path) -> None:
    """Create a root file system with the interpreters, unless it exists."""
    done = root / "opt" / "made-by-cpkg"
    if done.exists():
        return
    if system.architecture != "amd64":
        register_qemu(MACHINES[system.architecture])
    shutil.rmtree(root, ignore_errors=True)
    if system.suite == MUSL:
        make_musl_root(root, root.with_name(f"{root.name}-build"))
    else:
        # Debian has pip for its own python3; other interpreters use the wheel of pip
        packages = ["python3", "python3-pip", *(name for name in system.interpreters if name != "python3")]
        options = [f"--arch={system.architecture}", "--variant=minbase", f"--include={','.join(packages)}"]
        run(["debootstrap", *options, system.suite, str(root)], root.parent)
    done.touch()


def make_musl_root(root: Path, work: Path) -> None:
    """
    Create a root with musl and CPython; `work` is a folder for intermediate files, which is removed at the end.

    Debian has no interpreter for musl, so CPython and zlib are compiled from the sources of its stable release, with
    the musl and clang of zig, as a program for this machine. Debian's package musl, which must be installed, runs it.
    """
    if not MUSL_LOADER.exists():
        raise SystemExit(f"no {MUSL_LOADER} here: apt-get install musl")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    sources = {name: _unpack_source(name, work) for name in ("zlib", MUSL_PYTHON)}
    environment = _zig_tools(work)
    zlib = sources["zlib"]
    run(["./configure", "--static"], zlib, **environment, CFLAGS="-O2 -fPIC")
    run(["make", "libz.a"], zlib, **environment)
    options = ["--prefix=/usr", "--disable-test-modules", "--without-ensurepip", "OPT=-DNDEBUG -g0 -O1"]
    flags = {"CPPFLAGS": f"-I{zlib}", "LDFLAGS": f"-L{zlib}"}
    run(["./configure", *options], sources[MUSL_PYTHON], **environment, **_ANSWERS, **flags)
    run(["make", f"-j{os.cpu_count()}"], sources[MUSL_PYTHON], **environment)
    run(["make", "install", f"DESTDIR={root}"], sources[MUSL_PYTHON], **environment)
    for folder in ("lib", "opt", "proc", "root", "tmp"):
        (root / folder).mkdir()
    shutil.copy(MUSL_LOADER, root / "lib")
    shutil.rmtree(work)


def _unpack_source(package: str, work: Path) -> Path:
    """Return the sources of a Debian package as their authors released them."""
    folder = work / package
    folder.mkdir()
    with apt_for(folder / "apt", "deb-src") as apt:
        run([*apt, "source", "--download-only", package], folder)
    # there may also be a signature
    archive = next(path for path in folder.glob("*.orig.tar.*") if path.suffix != ".asc")
    unpack(archive, folder)
    return next(path for path in folder.iterdir() if path.is_dir())


def _zig_tools(work: Path) -> dict[str, str]:
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


def register_qemu(machine: str) -> None:
    """Make the kernel run programs for an architecture with qemu, as qemu-user-static does with systemd."""
    place = Path("/proc/sys/fs/binfmt_misc")
    if not (place / "register").exists():
        run(["mount", "-t", "binfmt_misc", "none", str(place)], ROOT)
    if not (place / f"qemu-{machine}").exists():
        (place / "register").write_text(Path(f"/usr/lib/binfmt.d/qemu-{machine}.conf").read_text().strip())


def enter(root: Path, *command: str) -> str:
    """Run a command in a root without a network."""
    search = "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    # with /proc, which PyPy needs to find itself, in a namespace that removes the mount afterwards
    script = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    clean = ["env", "-i", search, "HOME=/root", "LC_ALL=C.UTF-8", f"PYTHONPATH={PLACE}"]
    return run([*clean, "unshare", "--net", "--mount", "sh", "-c", script, str(root), *command], Path("/"))


def interpreter_tags(root: Path, program: str) -> tuple[str, str, str]:
    """Return the version, implementation and ABI of an interpreter for the options of pip."""
    code = (
        "import sys, sysconfig; print('%d.%d' % sys.version_info[:2], sys.implementation.name, "
        "sysconfig.get_config_var('SOABI'))"
    )
    version, implementation, soabi = enter(root, program, "-c", code).splitlines()[-1].split()
    if implementation == "pypy":
        return version, "pp", "_".join(soabi.split("-")[:2])
    return version, "cp", "cp" + version.replace(".", "")


def fetch_dependencies(version: str, implementation: str, abi: str, platforms: Sequence[str], folder: Path) -> None:
    """Download pip and the dependencies of our wheel with pip."""
    # pip evaluates markers for the interpreter that runs it, so name the extra dependencies of older ones
    older = ["typing_extensions"] * (version == "3.9")
    wanted = ["click>=8.1", "pip", *["cffi"] * (implementation == "cp"), *older]
    options = ["--quiet", "--only-binary=:all:", f"--python-version={version}", f"--implementation={implementation}"]
    options += [f"--abi={abi}", "--abi=none", *(f"--platform={platform}" for platform in platforms)]
    run([sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), *wanted], folder)


def try_interpreter(root: Path, program: str, platforms: Sequence[str], dist: Path) -> str:
    """Install in a root for one interpreter and run the tests; return the output of the smoke test."""
    version, implementation, abi = interpreter_tags(root, program)
    python = implementation + version.replace(".", "")
    ours = sorted(dist.glob(f"cpkg_codecs-*-{python}-{abi}-*{platforms[0]}*.whl"))
    if len(ours) != 1:
        raise SystemExit(f"expected one wheel for {python}-{abi} on {platforms[0]} in {dist}, found {len(ours)}")
    folder = root / WHEELS.lstrip("/")
    for place in (folder, root / PLACE.lstrip("/")):
        shutil.rmtree(place, ignore_errors=True)
    folder.mkdir(parents=True)
    fetch_dependencies(version, implementation, abi, platforms, folder)
    # the pure wheel is also there, to test that pip prefers the other one
    for wheel in (*ours, *dist.glob("cpkg_codecs-*-py3-none-any.whl")):
        shutil.copy(wheel, folder)
    shutil.copy(Path(__file__).with_name("smoke.py"), folder)
    pip = ["-m", "pip"]
    if program != "python3":
        pip = [f"{WHEELS}/{next(folder.glob('pip-*.whl')).name}/pip"]
    install = ["install", "--quiet", "--no-index", f"--find-links={WHEELS}", f"--target={PLACE}", "cpkg-codecs[cli]"]
    enter(root, program, *pip, *install)
    enter(root, program, "-m", "cpkg", "demo")
    return enter(root, program, f"{WHEELS}/smoke.py", ZSTD.version, MSGPACK.version).strip()


def main(arguments: Sequence[str] | None = None) -> None:
    """Test all systems, or the named ones."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=f"of {', '.join(SYSTEMS)} (default: all)")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder of the wheels (default: dist)")
    parser.add_argument("--roots", type=Path, default=Path("/var/tmp/cpkg-roots"), help="where the systems are kept")
    options = parser.parse_args(arguments)
    unknown = set(options.systems) - set(SYSTEMS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(SYSTEMS)}")
    if os.geteuid() != 0:
        sys.exit("this needs root, for debootstrap and chroot")
    options.roots.mkdir(parents=True, exist_ok=True)
    failed = False
    for name in options.systems or SYSTEMS:
        system = SYSTEMS[name]
        root = options.roots / name
        make_root(system, root)
        if found := [each for each in ("cc", "gcc", "clang", "tcc") if (root / "usr" / "bin" / each).exists()]:
            raise SystemExit(f"{name} is not bare: it has {', '.join(found)}")
        # the platform tags of our wheels that pip accepts there
        kinds = ("musllinux_1_2",) if system.suite == MUSL else ("manylinux_2_17", "manylinux2014")
        platforms = [f"{kind}_{MACHINES[system.architecture]}" for kind in kinds]
        for program in system.interpreters:
            began = time.perf_counter()
            try:
                told = try_interpreter(root, program, platforms, options.dist)
            except SystemExit as error:
                failed = True
                told = f"FAILED\n{error}"
            print(f"{name:16} {program:11} {time.perf_counter() - began:5.0f} s  {told}", flush=True)
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
