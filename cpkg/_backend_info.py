# SPDX-License-Identifier: Apache-2.0
"""`backend_info()` reports the backend in use for each codec, the reason, and what would make the codec faster."""

from __future__ import annotations

import itertools
import platform
import sys
from dataclasses import dataclass

from cpkg import _backend
from cpkg._backend import MODULES, Choice, choose, load
from purepy.base.lazy import imported


@dataclass(frozen=True)
class BackendInfo:
    """The backend of one codec, and the reason for it.

    `policy` is the requested policy, "auto" by default. `library` is the name and version of the library that the
    backend calls, None for the pure backend. `interpreter` is the interpreter with its version. `faster` describes what
    would make the codec faster; None if the backend is already the fastest, or nothing can be advised on this system.
    """

    codec: str
    backend: str
    policy: str
    reason: str
    library: str | None
    interpreter: str
    faster: str | None


def backend_info() -> dict[str, BackendInfo]:
    """
    Return, for each codec, the backend in use, the reason for it and what would make the codec faster.

    Chooses a backend for each codec that has not been used yet. Raises ImportError if using a codec would raise it.
    """
    return {codec: _info(codec) for codec in MODULES}


def _info(codec: str) -> BackendInfo:
    choice = choose(codec)
    missed = states(choice.codec, choice.module.BACKEND)  # the faster backends
    if choice.policy != "auto":
        reason = f"asked for by {choice.source}={choice.policy}"
    elif missed:
        reason = "the fastest that loads; " + "; ".join(missed.values())
    else:
        reason = f"the fastest on {platform.python_implementation()} as measured"
    return BackendInfo(
        codec=codec,
        backend=choice.module.BACKEND,
        policy=choice.policy,
        reason=reason,
        library=_library(choice),
        interpreter=f"{platform.python_implementation()} {platform.python_version()}",
        faster=_faster(choice, missed),
    )


def _library(choice: Choice) -> str | None:
    """
    Return the name and version of a backend's library; None for the pure backend.

    For a native module that contains the library, the text begins with "bundled", and ends with the number of patches
    to the library if there are any.
    """
    version: str | None = choice.module.LIBRARY_VERSION
    noted = _backend.record(choice.codec)
    if choice.module.BACKEND != "native" or noted is None or not noted.get("bundled"):
        return version
    patches = noted.get("patches")
    return f"bundled {version}" + (f" with {len(patches)} patches" if patches else "")


def states(codec: str, until: str = "") -> dict[str, str]:
    """
    Load the backends of a codec that are faster than the backend `until`; "" means all backends.

    Returns, for the name of each backend, the reason why loading it failed, or "" if it succeeded.
    """
    found = {}
    for backend in itertools.takewhile(until.__ne__, MODULES[codec]):
        try:
            load(codec, backend)
            found[backend] = ""
        except ImportError as exc:
            found[backend] = str(exc)
    return found


def _faster(choice: Choice, missed: dict[str, str]) -> str | None:
    if not missed:
        return None
    loadable = [backend for backend, reason in missed.items() if not reason]
    if loadable:
        return f"unset {choice.source}: {loadable[0]} loads here and is faster"
    return _advice(choice.codec)


def _advice(codec: str) -> str | None:
    if sys.platform == "emscripten":  # no native module exists for it
        return None
    noted = _backend.record(codec)
    if noted is None:
        if _backend.hidden_package() is not None:
            return _backend.ELSEWHERE
        return "build the native modules: run pip install -e . in the source folder"
    if noted["native"]:
        if not _is_main_interpreter():
            return "use cpkg in the main interpreter of the process: cffi modules work in no other interpreter"
        return "the native module was built: if it does not load in a new process either, reinstall cpkg-codecs"
    if sys.platform == "win32":  # the pure wheel was built on another system, whose advice does not apply
        return (
            "install the wheel for Windows with a supported CPython: tox run -e wheels -- windows builds it in a "
            "checkout on Linux (once cpkg-codecs is on the package index: pip install cpkg-codecs)"
        )
    return str(noted["advice"])


def _is_main_interpreter() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):  # the second name is used before Python 3.13
        try:
            interpreters = imported(name)
        except ImportError:
            continue
        return bool(interpreters.get_current() == interpreters.get_main())
    return True
