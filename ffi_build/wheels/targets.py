# SPDX-License-Identifier: Apache-2.0
"""
The Linux systems that wheels are built for, with their names for zig and pip, and their compilers.

The targets for Windows and macOS are in `ffi_build.wheels.maven`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A system to build for. `libc` is "glibc" or "musl" (gcc compiles), or "windows" or "macos" (zig compiles)."""

    libc: str
    architecture: str
    """The name of the architecture in the platform tags of Linux and macOS."""
    zig: str
    """The argument of `zig cc -target`, including the version of glibc or macOS to build for."""
    platforms: tuple[str, ...]
    """Platform tags of the wheel; on Linux, auditwheel must confirm one of them."""

    @property
    def is_linux(self) -> bool:
        """Whether this is Linux: gcc compiles for it, and the Zstandard module contains the C code for archives."""
        return self.libc in ("glibc", "musl")

    @property
    def machine(self) -> str:
        """The name that gcc, zig and CPython use for the architecture."""
        return self.zig.partition("-")[0]

    @property
    def triplet(self) -> str:
        """The last part of an extension module's name before `.so`, on a Linux system."""
        return f"{self.machine}-linux-{'gnu' if self.libc == 'glibc' else 'musl'}"

    @property
    def oldest_glibc(self) -> tuple[int, int]:
        """The oldest glibc of a glibc target, as major and minor version, according to its first platform tag."""
        major, minor = self.platforms[0].split("_")[1:3]
        return int(major), int(minor)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments for gcc that this architecture needs."""
        if self.architecture == "x86_64":
            return ()
        if self.architecture == "aarch64":
            return ("-mno-outline-atomics",)
        # elsewhere, gcc 12 vectorizes the copy of a call's arguments, then warns that the copy exceeds the array
        quiet = ("-Wno-stringop-overflow",)
        if self.architecture == "s390x":
            # the headers of CPython and msgpack-c were generated on a little-endian machine
            return (
                *quiet,
                "-DWORDS_BIGENDIAN=1",
                "-DMSGPACK_ENDIAN_BIG_BYTE=1",
                "-DMSGPACK_ENDIAN_LITTLE_BYTE=0",
            )
        return quiet


def _linux(architecture: str, machine: str, glibc: int, zig_glibc: int = 0) -> Iterator[Target]:
    """
    Yield the targets of an architecture, one per C library (glibc and musl).

    `machine` is gcc's name for the architecture. `glibc` is the oldest minor version of glibc 2 to support. If zig does
    not support that version for the architecture, `zig_glibc` is the oldest version that zig supports; otherwise it is
    0. The checks of the wheels compare the modules with `glibc` in any case.
    """
    tags = [f"manylinux_2_{glibc}_{architecture}"]
    if glibc == 17:  # pip before 20.3 knows manylinux_2_17 only by its old name
        tags.append(f"manylinux2014_{architecture}")
    yield Target("glibc", architecture, f"{machine}-linux-gnu.2.{zig_glibc or glibc}", tuple(tags))
    yield Target("musl", architecture, f"{machine}-linux-musl", (f"musllinux_1_2_{architecture}",))


TARGETS = (
    *_linux("x86_64", "x86_64", 17),
    *_linux("aarch64", "aarch64", 17),
    *_linux("ppc64le", "powerpc64le", 17, 19),
    # the oldest glibc that auditwheel knows for riscv64
    *_linux("riscv64", "riscv64", 31),
    *_linux("s390x", "s390x", 17),
)

# The version of gcc is fixed, so that wheels are reproducible.
GCC = "{}-linux-gnu-gcc-12"
"""The name of gcc's program for a `Target.machine`, in Debian and Ubuntu."""
GCC_PACKAGE = "gcc-12-{}-linux-gnu"
"""The package of that program, except for x86_64, whose package is gcc-12."""


def gcc_for(target: Target) -> str:
    """Return the path of gcc for a target; if it is missing, raises SystemExit that names the package to install."""
    name = GCC.format(target.machine)
    found = shutil.which(name)
    if found is None:
        package = "gcc-12" if target.machine == "x86_64" else GCC_PACKAGE.format(target.machine)
        raise SystemExit(f"{name} not found; it is needed to compile the native modules: apt-get install {package}")
    return found
