# SPDX-License-Identifier: Apache-2.0
"""
Choose a backend for each codec, once and on first use, and record the reason.

A policy is `auto` or the name of a backend, from `CPKG_MSGPACK_BACKEND`, `CPKG_ZSTD_BACKEND` or, for both codecs,
`CPKG_BACKEND`. Only `auto` falls back to another backend. If a backend chosen by name cannot load, ImportError is
raised with the reason: after a silent fallback, users would have to find out why a program runs twenty times slower.
Errors that caused a fallback are kept here, and `backend_info()` shows them.
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

# The backends of each codec, fastest first; `auto` tries them in this order. The order is the same on every
# interpreter, for encoding and for decoding. docs/performance.md, "Which backend is fastest", has the figures; change
# both together.
MODULES: dict[str, dict[str, str]] = {
    "msgpack": {
        "native": f"cpkg._native.msgpack.{'pypy.backend' if sys.implementation.name == 'pypy' else 'cpython'}",
        "pure": "purepy.msgpack",
    },
    "zstd": {
        "native": "cpkg._native.zstd.compiled",
        # msgpack has no dlopen backend: msgpack-c packs in inline functions, which no shared library exports.
        "dlopen": "cpkg._native.zstd.dlopen",
        "stdlib": "cpkg._native.zstd.stdlib",
        "pure": "purepy.zstd",
    },
}

ELSEWHERE = "start Python in another folder, or run pip install -e . in the source folder"
"""What to do if a source folder hides the installed package."""


class Choice:
    """
    The module in use for a codec, and the policy for it.

    `source` is the environment variable that set the policy, or "the default".
    """

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
    Return the module of a backend. The first call imports it; if the import failed, later calls raise the same error.

    Raises ImportError, with the reason, if the backend cannot load or the codec has no such backend, and ValueError for
    an unknown codec or backend and for "auto".
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
        # A new exception each time: raising the same object again would extend its traceback.
        raise ImportError(str(result), name=result.name) from result.__cause__
    return result


def _import(codec: str, backend: str) -> ModuleType | ImportError:
    name = MODULES[codec].get(backend)
    if name is None:
        return ImportError(
            f"{codec} has no {backend} backend (it has {', '.join(MODULES[codec])}); "
            f"to choose {backend} for zstd only, set CPKG_ZSTD_BACKEND={backend}"
        )
    if backend in ("native", "dlopen") and _breaks_cffi():
        return ImportError(f"the {backend} backend of {codec} cannot be loaded: {_ISOLATED}", name=name)
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


_ISOLATED = "cffi does not support loading in interpreters that have their own GIL (_cffi_backend, single-phase init)"


def _breaks_cffi() -> bool:
    """
    Return whether importing cffi in this interpreter would crash the process later.

    CPython 3.12 initializes `_cffi_backend` in an isolated interpreter before it refuses the module (gh-117953, fixed
    in 3.13). cffi's types, which exist once per process, then refer to that interpreter's memory. CPython does not
    report an interpreter's settings, but only isolated interpreters forbid daemon threads.
    """
    if sys.version_info[:2] != (3, 12) or sys.implementation.name != "cpython":
        return False
    threads: Named = imported("_thread")
    return not threads.daemon_threads_allowed()


def policy(codec: str) -> tuple[str, str]:
    """
    Return the policy for a codec and the environment variable that set it ("auto" and "the default" if neither did).

    A codec's own variable wins over CPKG_BACKEND. Raises ImportError if the value of the variable is not a policy.
    """
    for variable in (f"CPKG_{codec.upper()}_BACKEND", "CPKG_BACKEND"):
        value = os.environ.get(variable, "").strip().lower()
        if value:
            if value not in POLICIES:
                raise ImportError(f"{variable}={value}: expected one of {', '.join(POLICIES)}")
            return value, variable
    return "auto", "the default"


def choose(codec: str) -> Choice:
    """
    Return the Choice for a codec. The first successful call makes it, by the policy at that time, and keeps it.

    Raises ImportError if the policy is not valid, if it names a backend that cannot load, or if no backend can load.
    """
    choice = _chosen.get(codec)
    if choice is None:
        wanted, source = policy(codec)
        module = load(codec, wanted) if wanted != "auto" else _first(codec)
        choice = _chosen.setdefault(codec, Choice(codec, wanted, source, module))
    return choice


def msgpack() -> MsgpackBackend:
    """Return the module in use for MessagePack; chooses it, and raises ImportError, as `choose` does."""
    module: Named = choose("msgpack").module
    return module  # type: ignore[no-any-return]


def zstd() -> ZstdBackend:
    """Return the module in use for Zstandard; chooses it, and raises ImportError, as `choose` does."""
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
    """Return what the build recorded about a codec; None if this copy has no record of a build for this interpreter."""
    try:
        codecs: dict[str, Built] = imported("cpkg._build_info").CODECS
    except ImportError:
        return None
    suffix: str = "".join(imported("_imp").extension_suffixes()[:1])
    return codecs.get(codec + suffix) or codecs.get(codec)  # the keys of an editable install and of a wheel


def _built(codec: str) -> tuple[bool, str]:
    """Return whether the build created the native module, and the reason why or why not."""
    noted = record(codec)
    if noted is None:
        installed = hidden_package()
        if installed is None:
            return False, "not built: this source folder was never installed with this interpreter (pip install -e .)"
        return False, (
            f"Python imported the source folder {_source_folder()}, which has no modules built for this interpreter "
            f"and hides the package installed in {installed}: {ELSEWHERE}"
        )
    return noted["native"], noted["reason"]


def _source_folder() -> str:
    """Return the folder that contains this package."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def hidden_package() -> str | None:
    """Return the folder of another, installed copy of this package, which this source folder hides; or None."""
    metadata = imported("importlib.metadata")
    folder = _source_folder()
    for found in metadata.distributions(name="cpkg-codecs"):
        installed = str(found.locate_file(""))  # perhaps the source folder: a build leaves metadata there
        if os.path.isdir(os.path.join(installed, "cpkg")) and not os.path.samefile(installed, folder):
            return installed
    return None
