# SPDX-License-Identifier: Apache-2.0
"""Report of which backend serves each codec here, why, and what would make it faster: `backend_info()`."""

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
    """The backend of one codec here, and the reason.

    `policy` is what was asked for, `library` the library and its version, None for the pure backend, `interpreter` the
    interpreter and its version; `faster` says what would make the codec faster, or is None.
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
    Return, per codec, the backend in use, the reason for it and what would make it faster.

    Chooses the backends if nothing has been packed or compressed yet. Raises ImportError where using the codec would.
    """
    return {codec: _info(codec) for codec in MODULES}


def _info(codec: str) -> BackendInfo:
    choice = choose(codec)
    missed = states(choice.codec, choice.module.BACKEND)  # those that are faster
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
    """Return the library behind a backend and its version, and whether the native module has a copy, with patches."""
    version: str | None = choice.module.LIBRARY_VERSION
    noted = _backend.record(choice.codec)
    if choice.module.BACKEND != "native" or noted is None or not noted.get("bundled"):
        return version
    patches = noted.get("patches")
    return f"bundled {version}" + (f" with {len(patches)} patches" if patches else "")


def states(codec: str, until: str = "") -> dict[str, str]:
    """Return for each backend of a codec before `until` why it cannot be loaded, "" if it can."""
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
        if _backend.source_folder() is not None:
            return _backend.ELSEWHERE
        return "install the package (pip install .) instead of importing its source tree"
    if noted["native"]:
        if not _is_main_interpreter():
            return "use it in the main interpreter of the process: cffi's modules serve no other"
        return "reinstall, if it does not load in a new process either: the native module was built"
    if sys.platform == "win32":  # the pure wheel's advice is that of the system where it was built
        return "install the wheel for Windows, with a CPython that it is made for: pip install cpkg-codecs"
    return str(noted["advice"])


def _is_main_interpreter() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):  # before Python 3.13 the latter
        try:
            interpreters = imported(name)
        except ImportError:
            continue
        return bool(interpreters.get_current() == interpreters.get_main())
    return True
