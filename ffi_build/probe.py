# SPDX-License-Identifier: Apache-2.0
"""
Find libzstd and msgpack-c, or find out why they cannot be used.

If setup.py declared an extension that fails to build, the result would be a platform wheel without that module. So an
extension is declared only after a trial program was compiled and linked with its library. Otherwise it is left out, and
the wheel records the reason (`cpkg/_build_info.py`).

Whatever is missing, `find` raises nothing, because a setup script that raises cannot even report the name of its
package. Only `demand` and a wrong value of `CPKG_BUILD_NATIVE` end the program.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ENVIRONMENT = "CPKG_BUILD_NATIVE"
MODES = ("auto", "never", "require")
_ARGUMENTS = ("include_dirs", "library_dirs", "libraries", "extra_compile_args", "extra_link_args")
_HEADERS = "pypy3-dev" if platform.python_implementation() == "PyPy" else "python3-dev"
"""Debian's package of this interpreter's headers."""
_REBUILD = (
    "build from source: in a checkout run pip install -e . (once cpkg-codecs is on the package index: "
    "pip install --force-reinstall --no-deps --no-binary=cpkg-codecs cpkg-codecs)"
)


@dataclass(frozen=True)
class Requirement:
    """The library that a native module needs: names to try, and a C program that proves that the library works."""

    codec: str
    title: str
    package: str
    """The Debian package with the headers, for advice to users."""
    candidates: tuple[tuple[str, str], ...]
    """Pairs of pkg-config name and library name, in the order to try."""
    program: str


@dataclass(frozen=True)
class FoundLibrary:
    """The result of a search: whether a library is `usable`, why (`reason`), and the compiler's arguments for it."""

    codec: str
    reason: str
    usable: bool = False
    version: str | None = None
    include_dirs: list[str] = field(default_factory=list)
    library_dirs: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    extra_compile_args: list[str] = field(default_factory=list)
    extra_link_args: list[str] = field(default_factory=list)

    def extension_arguments(self) -> dict[str, list[str]]:
        """Return the keyword arguments of `FFI.set_source` for this library."""
        return {name: list(getattr(self, name)) for name in _ARGUMENTS}


# The trial program links the same kind of object as the real build.
_ZSTD = Requirement(
    codec="zstd",
    title="libzstd 1.4.8 or newer",
    package="libzstd-dev",
    candidates=(("libzstd", "zstd"),),
    program="""
#include <Python.h>
#include <zstd.h>
#include <zdict.h>
#if ZSTD_VERSION_NUMBER < 10408
#error "libzstd is older than 1.4.8"
#endif
const char *cpkg_probe_version = "cpkg-probe-version:" ZSTD_VERSION_STRING;
unsigned cpkg_probe(void) { return ZSTD_versionNumber() + ZDICT_isError(0) + (Py_IsInitialized() != 0); }
""",
)

_MSGPACK = Requirement(
    codec="msgpack",
    title="msgpack-c 4.0 or newer",
    package="libmsgpack-dev (libmsgpack-c-dev on newer systems)",
    # msgpack-c 6.0 changed the names
    candidates=(("msgpack-c", "msgpack-c"), ("msgpack", "msgpackc")),
    program="""
#include <Python.h>
#include <msgpack.h>
#if MSGPACK_VERSION_MAJOR < 4
#error "msgpack-c is older than 4.0"
#endif
#define CPKG_STRING(x) #x
#define CPKG_VALUE(x) CPKG_STRING(x)
const char *cpkg_probe_version = "cpkg-probe-version:" CPKG_VALUE(MSGPACK_VERSION_MAJOR) "."
    CPKG_VALUE(MSGPACK_VERSION_MINOR) "." CPKG_VALUE(MSGPACK_VERSION_REVISION);
int cpkg_probe(void) { return msgpack_version_major() + (Py_IsInitialized() != 0); }
""",
)

REQUIREMENTS = {requirement.codec: requirement for requirement in (_ZSTD, _MSGPACK)}


def mode() -> str:
    """
    Return the build policy from `CPKG_BUILD_NATIVE`: auto (the default), never or require.

    Raises SystemExit for any other value.
    """
    value = os.environ.get(ENVIRONMENT, "").strip().lower() or "auto"
    if value not in MODES:
        raise SystemExit(f"{ENVIRONMENT}={value}: expected one of {', '.join(MODES)}")
    return value


@functools.cache
def find(codec: str) -> FoundLibrary:
    """
    Return the library of a codec; it is usable if a trial program could be compiled and linked with it.

    Otherwise, and with the mode `never`, `usable` is False and `reason` explains why.
    """
    requirement = REQUIREMENTS[codec]
    if mode() == "never":
        return FoundLibrary(codec, f"not built: {ENVIRONMENT}=never")
    troubles: dict[str, None] = {}  # an ordered set, because candidates may fail for the same reason
    found = {name: _pkg_config(name) for name, _ in requirement.candidates}
    unknown = all(flags is None for flags, _ in found.values())
    for name, library in requirement.candidates:
        flags, trouble = found[name]
        # Without pkg-config or a .pc file, the compiler may still find the headers in its own path.
        arguments = _split(["-l" + library] if flags is None else flags)
        version, complaint = _trial(requirement, arguments)
        if version is not None:
            return FoundLibrary(codec, f"built against {codec} {version}", True, version, **arguments)
        if unknown or flags is not None:  # if pkg-config finds one name, it need not find the other
            troubles.update(dict.fromkeys(filter(None, (trouble, complaint))))
    return FoundLibrary(codec, f"not built: no usable {requirement.title}: " + "; ".join(troubles))


def advice(codec: str) -> str:
    """Return what to install so that the native module of `codec` can be built."""
    headers = f"Python's headers ({_HEADERS} on Debian)"
    return f"install a C compiler, {headers}, pkg-config and {REQUIREMENTS[codec].package}, then {_REBUILD}"


def demand(library: FoundLibrary, why: str = "") -> None:
    """If a library cannot be used, raise SystemExit with the text `why`, the library's reason, and advice."""
    if not library.usable:
        raise SystemExit(f"{why}{library.reason}\nTo fix this: {advice(library.codec)}.")


def _pkg_config(name: str) -> tuple[list[str] | None, str | None]:
    """Return the compiler and linker flags of a package and None, or None and the reason."""
    tool = os.environ.get("PKG_CONFIG") or "pkg-config"
    try:
        result = subprocess.run(
            [*shlex.split(tool), "--cflags", "--libs", name], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, ValueError, subprocess.SubprocessError) as exc:
        return None, f"{tool} cannot be run ({exc})"
    if result.returncode != 0:
        return None, f"{tool} does not find {name}"
    return shlex.split(result.stdout), None


def _split(flags: list[str]) -> dict[str, list[str]]:
    arguments: dict[str, list[str]] = {name: [] for name in _ARGUMENTS}
    kinds = {"-I": "include_dirs", "-L": "library_dirs", "-l": "libraries"}
    for flag in flags:
        kind = kinds.get(flag[:2])
        if kind is not None:
            arguments[kind].append(flag[2:])
        elif flag.startswith("-D"):
            arguments["extra_compile_args"].append(flag)
        else:
            arguments["extra_link_args"].append(flag)
    return arguments


def _trial(requirement: Requirement, arguments: dict[str, list[str]]) -> tuple[str | None, str]:
    """Compile and link the trial program; return the version of the library and "", or None and the reason."""
    try:
        # from Python 3.12 on, importing setuptools provides distutils
        import setuptools  # noqa: F401, I001
        from distutils.ccompiler import new_compiler
        from distutils.sysconfig import customize_compiler
    except ImportError as exc:
        return None, f"setuptools cannot run a C compiler ({exc})"

    with tempfile.TemporaryDirectory(prefix="cpkg-probe-") as folder:
        source = Path(folder, f"probe_{requirement.codec}.c")
        source.write_text(requirement.program)
        try:
            compiler = new_compiler()
            customize_compiler(compiler)
            with _quiet(Path(folder, "log")) as log:
                try:
                    objects = compiler.compile(
                        [str(source)],
                        output_dir=folder,
                        include_dirs=[*arguments["include_dirs"], *_python_include_dirs()],
                        extra_preargs=arguments["extra_compile_args"],
                    )
                except Exception:
                    return None, _complaint("compile", _program(compiler, "compiler"), log, _python_include_dirs())
                target = Path(folder, "probe.so")
                try:
                    compiler.link_shared_object(
                        objects,
                        str(target),
                        libraries=arguments["libraries"],
                        library_dirs=arguments["library_dirs"],
                        extra_postargs=arguments["extra_link_args"],
                    )
                except Exception:
                    return None, _complaint("link", _program(compiler, "linker_so"), log)
            version = re.search(rb"cpkg-probe-version:([\x21-\x7e]+)", target.read_bytes())
        except Exception as exc:  # any failure of a compiler class means that the library cannot be used
            return None, f"no working compiler ({exc})"
    if version is None:
        return None, "the trial build contains no version"
    return version.group(1).decode("ascii"), ""


def _python_include_dirs() -> list[str]:
    paths = [sysconfig.get_path(key) for key in ("include", "platinclude")]
    return list(dict.fromkeys(path for path in paths if path))


def _complaint(step: str, program: str, log: Path, include_dirs: Sequence[str] = ()) -> str:
    """Return why a step failed: what is missing, else the first error in the log, else only which program failed."""
    if shutil.which(program) is None and program != _UNKNOWN:
        return f"no C compiler found ({program} is missing)"
    if include_dirs and not any(Path(folder, "Python.h").is_file() for folder in include_dirs):
        name = platform.python_implementation()
        return f"the headers of {name} are missing ({_HEADERS} on Debian): no Python.h in {', '.join(include_dirs)}"
    for line in log.read_text(errors="replace").splitlines():
        _, found, message = line.partition("error:")
        if found:
            return f"the trial program does not {step}: {message.strip()[:200]}"
    return f"the trial program does not {step}: {program} fails"


_UNKNOWN = "the compiler"


def _program(compiler: object, role: str) -> str:
    command = getattr(compiler, role, None)
    return command[0] if command else _UNKNOWN


@contextlib.contextmanager
def _quiet(log: Path) -> Iterator[Path]:
    """Within the block, redirect descriptors 1 and 2, to which compilers write, to the file `log`; yield its path."""
    saved = os.dup(1), os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield log
    finally:
        for kept, descriptor in zip(saved, (1, 2)):
            os.dup2(kept, descriptor)
            os.close(kept)
