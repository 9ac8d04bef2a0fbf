# SPDX-License-Identifier: Apache-2.0
"""Find the interpreters that wheels are built for, and make their headers fit for other systems than this one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
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
    "program": sys.executable,
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """An interpreter of this machine; `headers` is the folder of its Python.h."""

    name: str
    program: str
    headers: Path
    suffix: str
    """The end of an extension module's name, `.cpython-311-x86_64-linux-gnu.so`."""

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
                f"{self.program}: expected .pypyNN-ppNN-... as the end of a module's name, got {self.suffix}"
            )
        return f"pp{number}", "_".join(match.groups())

    def serves(self, target: Target) -> bool:
        """Return whether the interpreter exists for a system: nobody builds PyPy for musl."""
        return self.implementation == "cpython" or target.libc == "glibc"

    def suffix_for(self, target: Target) -> str:
        """Return what an extension module's name ends with on another system."""
        return re.sub(r"-[^-]+-linux-\w+\.so$", f"-{target.triplet}.so", self.suffix)

    def copy_headers(self, folder: Path) -> Path:
        """
        Copy the headers to where every target can use them, and return that folder.

        What pyconfig.h says of types and alignment is the same on all 64-bit Linux systems. Debian's leads to a file
        among the system's own headers, which belong to this machine's C library: that file takes its place.
        """
        copy = folder / self.name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.headers, copy)
        settings = copy / "pyconfig.h"
        found = re.search(r"include <(x86_64-linux-gnu/\S+/pyconfig\.h)>", settings.read_text(encoding="utf-8"))
        if found is not None:
            settings.unlink()  # a link into /etc in some releases
            shutil.copyfile(Path("/usr/include", found.group(1)), settings)
        return copy


def find(names: list[str]) -> tuple[dict[str, Interpreter], dict[str, str]]:
    """Return the interpreters by name, and for each name that is not to be had the reason."""
    found: dict[str, Interpreter] = {}
    missing: dict[str, str] = {}
    for name in names:
        missing[name] = f"no {_program(name)} here"
        for program in _candidates(name):
            answer = _ask(program)
            if answer is None or answer["name"] != name:
                continue
            headers = Path(answer["headers"])
            if not (headers / "Python.h").exists():
                missing[name] = f"{program} has no headers ({headers}/Python.h)"
                continue
            found[name] = Interpreter(name, program, headers, answer["suffix"])
            del missing[name]
            break
    return found, missing


def _program(name: str) -> str:
    return name if name.startswith("pypy") else f"python{name}"


def _candidates(name: str) -> Iterator[str]:
    """Yield programs that may be an interpreter: what PATH has, then pyenv's, newest first."""
    for program in (_program(name), "pypy3" if name.startswith("pypy") else ""):
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            path = Path(folder, program)
            # a shim of pyenv's stands for whatever is configured
            if program and path.is_file() and "shims" not in path.parts:
                yield str(path)
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    programs = versions.glob(f"*/bin/{_program(name)}")
    yield from sorted(
        map(str, programs), key=lambda text: [int(part) for part in re.findall(r"\d+", text)], reverse=True
    )


def _ask(program: str) -> dict[str, str] | None:
    try:
        result = subprocess.run(
            [program, "-I", "-c", _QUESTIONS], capture_output=True, text=True, timeout=60, check=False
        )
        answer: dict[str, str] = json.loads(result.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return answer
