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

DIRECTIONS: dict[str, tuple[str, ...]] = {"msgpack": ("pack", "unpack"), "zstd": ("compress", "decompress")}

# What `auto` tries, fastest first, per codec, direction and interpreter. The figures behind each order are in
# docs/performance.md, "Which backend is fastest"; change one only with the other.
_CPYTHON, _PYPY = "CPython", "PyPy"
_ORDER: dict[tuple[str, str, str], tuple[str, ...]] = {
    ("msgpack", "pack", _CPYTHON): ("native", "pure"),
    ("msgpack", "unpack", _CPYTHON): ("native", "pure"),
    ("msgpack", "pack", _PYPY): ("native", "pure"),
    ("msgpack", "unpack", _PYPY): ("native", "pure"),
    ("zstd", "compress", _CPYTHON): ("native", "dlopen", "pure"),
    ("zstd", "decompress", _CPYTHON): ("native", "dlopen", "pure"),
    ("zstd", "compress", _PYPY): ("native", "dlopen", "pure"),
    ("zstd", "decompress", _PYPY): ("native", "dlopen", "pure"),
}


@dataclass(frozen=True)
class BackendInfo:
    """
    What one codec runs on here, and why.

    `backend` is the backend's name, or two of them ("pack: pure, unpack: native") where the fastest differs per
    direction; `faster` says what would make the codec faster on this machine, or is None.
    """

    codec: str
    backend: str
    policy: str
    reason: str
    library: str | None
    interpreter: str
    faster: str | None


@dataclass(frozen=True)
class Choice:
    """The modules that serve a codec, one per direction (they are the same one nearly everywhere)."""

    codec: str
    policy: str
    source: str
    modules: dict[str, ModuleType]

    @property
    def module(self) -> ModuleType:
        """The one module of a codec whose directions never differ."""
        return next(iter(self.modules.values()))

    @property
    def pack(self) -> ModuleType:
        """The module that packs."""
        return self.modules["pack"]

    @property
    def unpack(self) -> ModuleType:
        """The module that unpacks."""
        return self.modules["unpack"]


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


def order(codec: str, direction: str) -> tuple[str, ...]:
    """Return the backends that `auto` tries on this interpreter, fastest first."""
    interpreter = _PYPY if sys.implementation.name == "pypy" else _CPYTHON
    return _ORDER[codec, direction, interpreter]


def choose(codec: str) -> Choice:
    """
    Return the modules that serve a codec under the policy in force; chosen once per process.

    Raises ImportError if the policy names a backend that cannot load, or no policy at all.
    """
    choice = _chosen.get(codec)
    if choice is None:
        wanted, source = policy(codec)
        modules = {}
        for direction in DIRECTIONS[codec]:
            modules[direction] = load(codec, wanted) if wanted != "auto" else _first(codec, direction)
        choice = _chosen.setdefault(codec, Choice(codec, wanted, source, modules))
    return choice


def _first(codec: str, direction: str) -> ModuleType:
    reasons = []
    for backend in order(codec, direction):
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
    names = {direction: module.BACKEND for direction, module in choice.modules.items()}
    used = list(dict.fromkeys(names.values()))
    missed = _missed(codec, names)
    if choice.policy != "auto":
        reason = f"asked for by {choice.source}={choice.policy}"
    elif missed:
        reason = "the fastest that loads; " + "; ".join(missed.values())
    else:
        reason = f"the fastest on {platform.python_implementation()} as measured"
    libraries = [module.LIBRARY_VERSION for module in choice.modules.values() if module.LIBRARY_VERSION]
    return BackendInfo(
        codec=codec,
        backend=used[0] if len(used) == 1 else ", ".join(f"{key}: {value}" for key, value in names.items()),
        policy=choice.policy,
        reason=reason,
        library=libraries[0] if libraries else None,
        interpreter=f"{platform.python_implementation()} {platform.python_version()}",
        faster=_faster(codec, choice, missed),
    )


def _missed(codec: str, names: dict[str, str]) -> dict[str, str]:
    """Return the backends that are faster than those in use, with what keeps each from loading."""
    missed = {}
    for direction, used in names.items():
        for backend in order(codec, direction):
            if backend == used:
                break
            try:
                load(codec, backend)
                missed[backend] = f"{backend} would be faster and loads"
            except ImportError as exc:
                missed[backend] = str(exc)
    return missed


def _faster(codec: str, choice: Choice, missed: dict[str, str]) -> str | None:
    if not missed:
        return None
    loadable = [backend for backend in missed if not isinstance(_loaded[codec, backend], ImportError)]
    if loadable:
        return f"unset {choice.source}: {loadable[0]} loads here and is faster"
    return _advice(codec)


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
