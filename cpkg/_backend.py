# SPDX-License-Identifier: Apache-2.0
"""
Choose a backend per codec, once, lazily, and remember why.

A policy is `auto` or one backend by name, from `CPKG_MSGPACK_BACKEND`, `CPKG_ZSTD_BACKEND` or, for both codecs,
`CPKG_BACKEND`. Only `auto` falls back: a backend that was asked for by name and cannot load is an ImportError with
the reason, because a program that silently runs twenty times slower is a bug that its user has to find. Every
ImportError that a fallback swallows is kept here and shown by `backend_info()`.
"""

from __future__ import annotations

import os
import sys

from purepy.base.lazy import Later, imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from cpkg._backend_protocols import MsgpackBackend, ZstdBackend
    from cpkg._build_info import Built
    from purepy.base.types import Named

POLICIES = ("auto", "native", "dlopen", "stdlib", "pure")

# The backends of each codec, fastest first: what `auto` tries, in this order. It is the same on every interpreter and
# in both directions; docs/performance.md, "Which backend is fastest", has the figures. Change one only with the other.
MODULES: dict[str, dict[str, str]] = {
    "msgpack": {
        "native": f"cpkg._native.msgpack.{'pypy.backend' if sys.implementation.name == 'pypy' else 'cpython'}",
        "pure": "purepy.msgpack",
    },
    "zstd": {
        "native": "cpkg._native.zstd.compiled",
        # No dlopen for msgpack: msgpack-c packs in inline functions, which no shared library exports.
        "dlopen": "cpkg._native.zstd.dlopen",
        "stdlib": "cpkg._native.zstd.stdlib",
        "pure": "purepy.zstd",
    },
}

ELSEWHERE = "start Python in another folder, or install with pip install -e ."
"""What to do where the source folder hides the installed package."""


class Choice:
    """The module that serves a codec; `source` is what set the policy."""

    __slots__ = ("codec", "module", "policy", "source")

    def __init__(self, codec: str, policy: str, source: str, module: ModuleType) -> None:
        self.codec = codec
        self.policy = policy
        self.source = source
        self.module = module


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
        raise ImportError(str(result), name=result.name) from result.__cause__
    return result


def _import(codec: str, backend: str) -> ModuleType | ImportError:
    name = MODULES[codec].get(backend)
    if name is None:
        return ImportError(
            f"{codec} has no {backend} backend (it has {', '.join(MODULES[codec])}); "
            f"to choose {backend} for the other codec alone, set its own CPKG_*_BACKEND"
        )
    try:
        if codec == "msgpack":
            imported("purepy.msgpack.interface").typed = Later("cpkg.typed.streams")
        module: ModuleType = imported(name)
        return module
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


def msgpack() -> MsgpackBackend:
    """Return the module that serves MessagePack."""
    module: Named = choose("msgpack").module
    return module  # type: ignore[no-any-return]


def zstd() -> ZstdBackend:
    """Return the module that serves Zstandard."""
    module: Named = choose("zstd").module
    return module  # type: ignore[no-any-return]


def _first(codec: str) -> ModuleType:
    reasons = []
    for backend in MODULES[codec]:
        try:
            return load(codec, backend)
        except ImportError as exc:
            reasons.append(str(exc))
    raise ImportError(f"no backend of {codec} can be loaded: " + "; ".join(reasons))


def record(codec: str) -> Built | None:
    """Return what the build noted about a codec, or None for a source tree that was never built."""
    try:
        found: Built = imported("cpkg._build_info").CODECS[codec]
    except ImportError:
        return None
    return found


def _built(codec: str) -> tuple[bool, str]:
    """Return whether the build made the native module, and the build's reason."""
    noted = record(codec)
    if noted is None:
        folder = source_folder()
        if folder is None:
            return False, "not built: this is a source tree that was never installed (pip install .)"
        return False, f"not built: imported from the source folder {folder}, not the installed package: {ELSEWHERE}"
    return noted["native"], noted["reason"]


def source_folder() -> str | None:
    """Return the folder that this package was imported from if it hides an installed one; for a tree not built."""
    metadata = imported("importlib.metadata")
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for found in metadata.distributions(name="cpkg-codecs"):
        installed = str(found.locate_file(""))  # the metadata of a build in the source folder lies in that itself
        if os.path.isdir(os.path.join(installed, "cpkg")) and not os.path.samefile(installed, folder):
            return folder
    return None
