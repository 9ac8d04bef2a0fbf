# SPDX-License-Identifier: Apache-2.0
"""
Find libzstd and msgpack-c, or say why they cannot be used.

A declared extension that then fails to build would still give a platform wheel, with no module in it. So an
extension is declared only after its library was compiled against and linked in a trial; everything else ends in a
pure wheel, and the reason stays with it (`cpkg/_build_info.py`).

Nothing here raises: a setup script that does cannot even give its package's name.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ENVIRONMENT = "CPKG_BUILD_NATIVE"
MODES = ("auto", "never", "require")
_ARGUMENTS = ("include_dirs", "library_dirs", "libraries", "extra_compile_args", "extra_link_args")
_REBUILD = (
    "build from source: pip install --force-reinstall --no-deps --no-binary=:all: cpkg-codecs "
    "(in a checkout: pip install .)"
)


@dataclass(frozen=True)
class Requirement:
    """The needs of a native module: names to try, and the smallest C program that proves them."""

    codec: str
    title: str
    package: str
    """Debian's name of the headers, for the advice that users get."""
    candidates: tuple[tuple[str, str], ...]
    """Pairs of pkg-config name and library name, in the order to try."""
    program: str


@dataclass(frozen=True)
class FoundLibrary:
    """A library that was found, or the reason why not."""

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
        """Return the keyword arguments for `FFI.set_source` that name this library."""
        return {name: list(getattr(self, name)) for name in _ARGUMENTS}


# The programs define an init function so that the trial links the same kind of object as the real build does.
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
    # renamed in msgpack-c 6.0; 4.x and older install the first
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
    """Return the build policy from `CPKG_BUILD_NATIVE`: auto (the default), never or require."""
    value = os.environ.get(ENVIRONMENT, "").strip().lower() or "auto"
    if value not in MODES:
        raise SystemExit(f"{ENVIRONMENT}={value}: expected one of {', '.join(MODES)}")
    return value


@functools.cache
def find(codec: str) -> FoundLibrary:
    """Return the library for `codec`, proved by a trial compile and link, or the reason why it cannot be used."""
    requirement = REQUIREMENTS[codec]
    if mode() == "never":
        return FoundLibrary(codec, f"not built: {ENVIRONMENT}=never")
    troubles: dict[str, None] = {}  # an ordered set: the same compiler fails the same way for every candidate
    for name, library in requirement.candidates:
        flags, trouble = _pkg_config(name)
        # No pkg-config or no .pc file is no proof of absence: headers in the compiler's own path are enough.
        arguments = _split(["-l" + library] if flags is None else flags)
        version, complaint = _trial(requirement, arguments)
        if version is not None:
            return FoundLibrary(codec, f"built against {codec} {version}", True, version, **arguments)
        troubles.update(dict.fromkeys(filter(None, (trouble, complaint))))
    return FoundLibrary(codec, f"not built: no usable {requirement.title}: " + "; ".join(troubles))


def advice(codec: str) -> str:
    """Return what to install so that the native module of `codec` can be built."""
    return f"install a C compiler, Python's headers, pkg-config and {REQUIREMENTS[codec].package}, then {_REBUILD}"


def demand(library: FoundLibrary, why: str = "") -> None:
    """End the program with the reason, after `why`, if a library cannot be used."""
    if not library.usable:
        raise SystemExit(f"{why}{library.reason}\nTo mend it: {advice(library.codec)}.")


def _pkg_config(name: str) -> tuple[list[str] | None, str | None]:
    """Return the compiler and linker flags of a package, or None and the trouble."""
    tool = os.environ.get("PKG_CONFIG") or "pkg-config"
    try:
        result = subprocess.run(
            [*shlex.split(tool), "--cflags", "--libs", name], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, ValueError, subprocess.SubprocessError) as exc:
        return None, f"{tool} does not run ({exc})"
    if result.returncode != 0:
        return None, f"{tool} does not know {name}"
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
    """Compile and link the requirement's program; return the library's version, or None and the complaint."""
    try:
        # distutils comes with setuptools from Python 3.12 on, and only once setuptools is imported
        import setuptools  # noqa: F401, I001
        from distutils.ccompiler import new_compiler
        from distutils.sysconfig import customize_compiler
    except ImportError as exc:
        return None, f"nothing to compile with ({exc})"

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
                    return None, _complaint("compile", _program(compiler, "compiler"), log)
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
        except Exception as exc:  # whatever a compiler class does, the answer is "cannot be used"
            return None, f"no working compiler ({exc})"
    if version is None:
        return None, "the trial build shows no version"
    return version.group(1).decode("ascii"), ""


def _python_include_dirs() -> list[str]:
    return [path for key in ("include", "platinclude") if (path := sysconfig.get_path(key))]


def _complaint(step: str, program: str, log: Path) -> str:
    for line in log.read_text(errors="replace").splitlines():
        _, found, message = line.partition("error:")
        if found:
            return f"the trial program does not {step}: {message.strip()[:200]}"
    return f"the trial program does not {step}: {program} fails"


def _program(compiler: object, role: str) -> str:
    command = getattr(compiler, role, None)
    return command[0] if command else "the compiler"


@contextlib.contextmanager
def _quiet(log: Path) -> Iterator[Path]:
    """Send what the compiler prints into a file: distutils writes to the descriptors themselves."""
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
