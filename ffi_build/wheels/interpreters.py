# SPDX-License-Identifier: Apache-2.0
"""Find the interpreters that wheels are built for, and copy their headers for compiling for other systems."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ffi_build.wheels.targets import Target

NAMES = (
    *(f"3.{minor}" for minor in range(9, 16)),
    *(f"3.{minor}t" for minor in (13, 14, 15)),
    *("pypy3.9", "pypy3.11"),
)

_QUESTIONS = """
import json, sys, sysconfig
print(json.dumps({
    "name": ("pypy" if sys.implementation.name == "pypy" else "")
        + "%d.%d" % sys.version_info[:2] + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""),
    "suffix": sysconfig.get_config_var("EXT_SUFFIX"),
    "headers": sysconfig.get_path("include"),
}))
"""


SYSTEM = Path("/")
_WITH_PYPY = (("glibc", "x86_64"), ("glibc", "aarch64"))


@dataclass(frozen=True)
class Interpreter:
    """An interpreter of this machine, or of another system whose files are in a folder of this machine."""

    name: str
    program: Path
    """The path of its executable; for a CPython from Maven, the path of its shared library."""
    headers: Path
    """The folder of its Python.h."""
    suffix: str
    """The suffix of extension modules, such as `.cpython-311-x86_64-linux-gnu.so`."""
    root: Path = SYSTEM
    """The root folder of its system; `program` and `headers` are below it."""

    @property
    def implementation(self) -> str:
        return "pypy" if self.name.startswith("pypy") else "cpython"

    @property
    def tags(self) -> tuple[str, str]:
        """The Python tag and the ABI tag of a wheel for it."""
        number = self.name.replace("pypy", "").replace(".", "")
        if self.implementation == "cpython":
            return f"cp{number.rstrip('t')}", f"cp{number}"
        match = re.match(r"\.(pypy\d+)-(pp\d+)-", self.suffix)
        if match is None:
            raise SystemExit(
                f"{self.program}: expected a suffix of extension modules like .pypyNN-ppNN-..., got {self.suffix}"
            )
        return f"pp{number}", "_".join(match.groups())

    def serves(self, target: Target) -> bool:
        """Return whether the interpreter exists for a system; PyPy exists only for glibc on two architectures."""
        return self.implementation == "cpython" or (target.libc, target.architecture) in _WITH_PYPY

    def suffix_for(self, target: Target) -> str:
        """Return the file name suffix of extension modules on a target system."""
        return re.sub(r"-[^-]+-linux-\w+\.so$", f"-{target.triplet}.so", self.suffix)

    def copy_headers(self, folder: Path) -> Path:
        """
        Copy the headers into a new folder in `folder`, so that every target can use them, and return the new folder.

        Types and alignment in pyconfig.h are the same on all 64-bit Linux systems, and `Target.arguments` corrects the
        byte order. Debian's pyconfig.h includes a file from the system's headers, which are for this machine's C
        library; a copy of that file replaces it.
        """
        copy = folder / self.name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.headers, copy)
        settings = copy / "pyconfig.h"
        found = re.search(r"include <(x86_64-linux-gnu/\S+/pyconfig\.h)>", settings.read_text(encoding="utf-8"))
        if found is not None:
            settings.unlink()  # a link into /etc in some releases
            shutil.copyfile(self.root / "usr" / "include" / found.group(1), settings)
        return copy


def find(names: list[str], roots: Sequence[Path] = ()) -> tuple[dict[str, Interpreter], dict[str, str]]:
    """
    Return the interpreters by name, and, for each name that is not available, the reason.

    `roots` are the root folders of other systems. Their interpreters are used if this machine does not have them.
    """
    found: dict[str, Interpreter] = {}
    missing: dict[str, str] = {}
    for name in names:
        missing[name] = f"no {_program(name)} here"
        for root, program in _candidates(name, roots):
            answer = _ask(root, program)
            if answer is None or answer["name"] != name:
                continue
            headers = _below(root, answer["headers"])
            if not (headers / "Python.h").exists():
                missing[name] = f"{program} has no headers ({headers}/Python.h)"
                continue
            found[name] = Interpreter(name, program, headers, answer["suffix"], root)
            del missing[name]
            break
    return found, missing


def _program(name: str) -> str:
    return name if name.startswith("pypy") else f"python{name}"


def _below(root: Path, path: str) -> Path:
    """Convert a path inside the system below `root` to a path on this machine."""
    return root / path.lstrip("/")


def _candidates(name: str, roots: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield the root of a system and a possible interpreter: from PATH, pyenv (newest first) and other systems."""
    programs = [_program(name), *(["pypy3"] if name.startswith("pypy") else [])]
    for program in programs:
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            path = Path(folder, program)
            # skip shims of pyenv, which run the configured version
            if path.is_file() and "shims" not in path.parts:
                yield SYSTEM, path
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    for path in sorted(
        versions.glob(f"*/bin/{programs[0]}"),
        key=lambda path: [int(part) for part in re.findall(r"\d+", str(path))],
        reverse=True,
    ):
        yield SYSTEM, path
    for root in roots:
        for program in programs:
            for folder in ("usr/local/bin", "usr/bin"):
                yield root, root / folder / program


def _ask(root: Path, program: Path) -> dict[str, str] | None:
    command = [str(program)] if root == SYSTEM else ["chroot", str(root), f"/{program.relative_to(root)}"]
    try:
        result = subprocess.run(
            [*command, "-I", "-c", _QUESTIONS], capture_output=True, text=True, timeout=60, check=False, cwd="/"
        )
        answer: dict[str, str] = json.loads(result.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return answer
