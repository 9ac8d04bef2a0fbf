# SPDX-License-Identifier: Apache-2.0
"""The systems that wheels are built for: an architecture with a C library, as zig and pip name it; its compiler."""

from __future__ import annotations

import shutil
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A system: `libc` is glibc or musl, and windows or macos where zig compiles, too."""

    libc: str
    architecture: str
    zig: str
    """The target as `zig cc -target` takes it; the oldest glibc that the wheel runs on is part of it."""
    platforms: tuple[str, ...]
    """Platform tags of the wheel, the first of which auditwheel has to confirm."""

    @property
    def is_linux(self) -> bool:
        """Whether gcc compiles for it, and archives in C are part of the module."""
        return self.libc in ("glibc", "musl")

    @property
    def triplet(self) -> str:
        """The end of an extension module's name before `.so`, as CPython built for that system looks for it."""
        return f"{self.architecture}-linux-{'gnu' if self.libc == 'glibc' else 'musl'}"


TARGETS = tuple(
    Target(libc, architecture, zig.format(architecture), tuple(tag.format(architecture) for tag in tags))
    for libc, zig, tags in (
        # pip before 20.3 knows manylinux_2_17 by its old name alone
        ("glibc", "{}-linux-gnu.2.17", ("manylinux_2_17_{}", "manylinux2014_{}")),
        ("musl", "{}-linux-musl", ("musllinux_1_2_{}",)),
    )
    for architecture in ("x86_64", "aarch64")
)

GCC = "{}-linux-gnu-gcc-12"
"""The compiler, by architecture, as Debian and Ubuntu name theirs. One version, because its output is in the wheels."""
GCC_PACKAGES = ("gcc-12", "gcc-12-aarch64-linux-gnu")


def gcc_for(target: Target) -> str:
    """Return the path of gcc for a target; raises SystemExit, with what to install, if it is not here."""
    name = GCC.format(target.architecture)
    found = shutil.which(name)
    if found is None:
        packages = " ".join(GCC_PACKAGES)
        raise SystemExit(f"no {name} here, which compiles what goes into wheels: apt-get install {packages}")
    return found
