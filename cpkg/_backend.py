# SPDX-License-Identifier: Apache-2.0
"""
Choose a backend per codec, once, lazily, and remember why.

A policy is `auto` or one backend by name, from `CPKG_MSGPACK_BACKEND`, `CPKG_ZSTD_BACKEND` or, for both codecs,
`CPKG_BACKEND`. Only `auto` falls back: a backend that was asked for by name and cannot load is an ImportError with
the reason, because a program that silently runs twenty times slower is a bug that its user has to find. Every
ImportError that a fallback swallows is kept here and shown by `backend_info()`.
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

POLICIES = ("auto", "native", "dlopen", "pure")

# The backends of each codec, fastest first: what `auto` tries, in this order. It is the same on every interpreter and
# in both directions; docs/performance.md, "Which backend is fastest", has the figures. Change one only with the other.
MODULES: dict[str, dict[str, str]] = {
    "msgpack": {
        "native": "cpkg._native.msgpack.pypy" if sys.implementation.name == "pypy" else "cpkg._native.msgpack.cpython",
        "pure": "purepy.msgpack",
    },
    "zstd": {
        "native": "cpkg._native.zstd.compiled",
        # No dlopen for msgpack: msgpack-c packs in inline functions, which no shared library exports.
        "dlopen": "cpkg._native.zstd.dlopen",
        "pure": "purepy.zstd",
    },
}


@dataclass(frozen=True)
class BackendInfo:
    """The backend of one codec here, and the reason; `faster` says what would make it faster, or is None."""

    codec: str
    backend: str
    policy: str
    reason: str
    library: str | None
    interpreter: str
    faster: str | None


@dataclass(frozen=True)
class Choice:
    """The module that serves a codec; `source` is what set the policy."""

    codec: str
    policy: str
    source: str
    module: ModuleType


_loaded: dict[tuple[str, str], ModuleType | ImportError] = {}
_chosen: dict[str, Choice] = {}


def load(codec: str, backend: str) -> ModuleType:
    """
    Return the module of one backend; all of a codec's backends can be loaded side by side.

    Raises ImportError, with the reason, if it cannot work here, and ValueError for an unknown codec or backend.
    """
    if codec not in MODULES:
        raise ValueError(f"unknown codec {codec!r}: expected one of {', '.join(MODULES)}")
    if backend not in POLICIES or backend == "auto":
        raise ValueError(f"unknown backend {backend!r}: expected one of {', '.join(POLICIES[1:])}")
    result = _loaded.get((codec, backend))
    if result is None:
        result = _import(codec, backend)
        _loaded[codec, backend] = result
    if isinstance(result, ImportError):
        # A fresh exception each time: raising one object again would pile up its traceback.
        raise ImportError(str(result), name=result.name) from result
    return result


def _import(codec: str, backend: str) -> ModuleType | ImportError:
    name = MODULES[codec].get(backend)
    if name is None:
        return ImportError(
            f"{codec} has no {backend} backend (it has {', '.join(MODULES[codec])}); "
            f"to choose {backend} for the other codec alone, set its own CPKG_*_BACKEND"
        )
    try:
        return importlib.import_module(name)
    except ImportError as exc:
        reason = str(exc)
        if backend == "native":
            built, why = _built(codec)
            if not built:
                reason = why
        failure = ImportError(f"the {backend} backend of {codec} cannot be loaded: {reason}", name=name)
        failure.__cause__ = exc
        return failure


def policy(codec: str) -> tuple[str, str]:
    """Return the policy for a codec and the environment variable that set it ("the default" if none did)."""
    for variable in (f"CPKG_{codec.upper()}_BACKEND", "CPKG_BACKEND"):
        value = os.environ.get(variable, "").strip().lower()
        if value:
            if value not in POLICIES:
                raise ImportError(f"{variable}={value}: expected one of {', '.join(POLICIES)}")
            return value, variable
    return "auto", "the default"


def choose(codec: str) -> Choice:
    """
    Return the module that serves a codec under the policy in force; chosen once per process.

    Raises ImportError if the policy names a backend that cannot load, or no policy at all.
    """
    choice = _chosen.get(codec)
    if choice is None:
        wanted, source = policy(codec)
        module = load(codec, wanted) if wanted != "auto" else _first(codec)
        choice = _chosen.setdefault(codec, Choice(codec, wanted, source, module))
    return choice


def _first(codec: str) -> ModuleType:
    reasons = []
    for backend in MODULES[codec]:
        try:
            return load(codec, backend)
        except ImportError as exc:
            reasons.append(str(exc))
    raise ImportError(f"no backend of {codec} can be loaded: " + "; ".join(reasons))


def backend_info() -> dict[str, BackendInfo]:
    """
    Return, per codec, the backend in use, the reason for it and what would make it faster.

    Chooses the backends if nothing has been packed or compressed yet. Raises ImportError where using the codec would.
    """
    return {codec: _info(codec) for codec in MODULES}


def _info(codec: str) -> BackendInfo:
    import platform  # costs more to import than this module, and only this report needs it

    choice = choose(codec)
    missed = _missed(choice)
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
    """Return the library behind a backend and its version, and whether it is a copy inside of the native module."""
    version: str | None = choice.module.LIBRARY_VERSION
    if choice.module.BACKEND == "native" and (_record(choice.codec) or {}).get("bundled"):
        return f"bundled {version}"
    return version


def _missed(choice: Choice) -> dict[str, str]:
    """Return the backends that are faster than the one in use, with what keeps each from loading."""
    missed = {}
    for backend in MODULES[choice.codec]:
        if backend == choice.module.BACKEND:
            break
        try:
            load(choice.codec, backend)
            missed[backend] = f"{backend} would be faster and loads"
        except ImportError as exc:
            missed[backend] = str(exc)
    return missed


def _faster(choice: Choice, missed: dict[str, str]) -> str | None:
    if not missed:
        return None
    loadable = [backend for backend in missed if not isinstance(_loaded[choice.codec, backend], ImportError)]
    if loadable:
        return f"unset {choice.source}: {loadable[0]} loads here and is faster"
    return _advice(choice.codec)


def _record(codec: str) -> dict[str, Any] | None:
    """Return what the build noted about a codec, or None for a source tree that was never built."""
    try:
        build_info = importlib.import_module("cpkg._build_info")
    except ImportError:
        return None
    record: dict[str, Any] = build_info.CODECS[codec]
    return record


def _built(codec: str) -> tuple[bool, str]:
    """Return whether the build made the native module, and the build's reason."""
    record = _record(codec)
    if record is None:
        return False, "not built: this is a source tree that was never installed (pip install .)"
    return record["native"], record["reason"]


def _advice(codec: str) -> str:
    record = _record(codec)
    if record is None:
        return "install the package (pip install .) instead of importing its source tree"
    if record["native"]:
        return "reinstall: the native module was built but does not load here"
    return str(record["advice"])
